const LONGEST = 4;

/** How many bytes at the end are the beginning of a character whose rest is missing. */
export function unfinishedBytes(bytes: Uint8Array): number {
  for (let back = 1; back < LONGEST && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (isContinuation(byte)) continue;
    return back < lengthAfter(byte) ? back : 0;
  }
  return 0;
}

/** How many bytes at the beginning are the rest of a character that began before. */
export function leftoverBytes(bytes: Uint8Array): number {
  let count = 0;
  while (count < LONGEST - 1 && isContinuation(bytes[count] ?? 0)) count++;
  return count;
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

function lengthAfter(lead: number): number {
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  if (lead >= 0xe0) return lead < 0xf0 ? 3 : 1;
  return lead >= 0xc2 ? 2 : 1;
}
