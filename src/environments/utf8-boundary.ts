const MAX_CHARACTER_BYTES = 4;

/** The number of bytes at the end that belong to an incomplete character. */
export function incompleteTailBytes(bytes: Uint8Array): number {
  for (let back = 1; back < MAX_CHARACTER_BYTES && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (isContinuation(byte)) continue;
    return back < characterBytes(byte) ? back : 0;
  }
  return 0;
}

/** The number of bytes at the beginning that continue a character from before. */
export function continuationHeadBytes(bytes: Uint8Array): number {
  let count = 0;
  while (count < MAX_CHARACTER_BYTES - 1 && isContinuation(bytes[count] ?? 0)) count++;
  return count;
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

function characterBytes(lead: number): number {
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  if (lead >= 0xe0) return lead < 0xf0 ? 3 : 1;
  return lead >= 0xc2 ? 2 : 1;
}
