import { incompleteTailBytes } from "../utf8-boundary.ts";

/** `windows-1252` is usually called Latin-1; it replaces 27 control characters of Latin-1 with printable ones. */
export type TextEncoding = "utf-8" | "utf-16le" | "utf-16be" | "windows-1252";

/** How a text is encoded as bytes. */
export interface TextFormat {
  readonly encoding: TextEncoding;
  readonly bom: boolean;
  /** The most frequent line ending; `lf` if there is none. */
  readonly lineEnding: "lf" | "crlf";
  /** Both line endings occur. */
  readonly mixed: boolean;
}

export const PLAIN_FORMAT: TextFormat = { encoding: "utf-8", bom: false, lineEnding: "lf", mixed: false };

const BOMS = [
  ["utf-8", [0xef, 0xbb, 0xbf]],
  ["utf-16le", [0xff, 0xfe]],
  ["utf-16be", [0xfe, 0xff]],
] as const satisfies readonly (readonly [TextEncoding, readonly number[]])[];

/** Detects the encoding from the beginning of a file; undefined if it is not text. `isWhole`: the sample is the file. */
export function detectEncoding(
  sample: Uint8Array,
  isWhole: boolean,
): { encoding: TextEncoding; bom: boolean } | undefined {
  for (const [encoding, bom] of BOMS) {
    if (bom.every((byte, index) => sample[index] === byte)) {
      const rest = sample.subarray(bom.length);
      return encoding !== "utf-8" || isUtf8(rest, isWhole) ? { encoding, bom: true } : undefined;
    }
  }
  if (isUtf8(sample, isWhole)) return { encoding: "utf-8", bom: false };
  for (const encoding of ["utf-16le", "utf-16be"] as const) {
    if (looksLikeUtf16(sample, encoding)) return { encoding, bom: false };
  }
  return looksLikeLatin1(sample, isWhole) ? { encoding: "windows-1252", bom: false } : undefined;
}

function isUtf8(bytes: Uint8Array, isWhole: boolean): boolean {
  if (bytes.includes(0)) return false;
  const whole = isWhole ? bytes : bytes.subarray(0, bytes.length - incompleteTailBytes(bytes));
  return decodeStrictly(whole, "utf-8") !== undefined;
}

/**
 * Eight-bit text: mostly ASCII, without control characters that text does not have, and without valid UTF-8 sequences,
 * which would indicate corrupt UTF-8 text.
 */
function looksLikeLatin1(bytes: Uint8Array, isWhole: boolean): boolean {
  const high = bytes.reduce((count, byte) => (byte >= 0x80 ? count + 1 : count), 0);
  if (bytes.some(isBinaryByte) || high > bytes.length * MAX_HIGH_BYTE_SHARE) return false;
  if (isWhole && incompleteTailBytes(bytes) > 0) return false;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
  return /^[\u0000-\u007f\ufffd]*$/.test(Buffer.from(bytes).toString("utf8"));
}

const MAX_HIGH_BYTE_SHARE = 0.4;

function isBinaryByte(byte: number): boolean {
  return byte === 0x7f || (byte < 0x20 && !(byte >= 0x09 && byte <= 0x0d) && byte !== 0x1b);
}

/** Without a BOM only ASCII text is recognised: nearly every unit is a printable ASCII character and a zero byte. */
function looksLikeUtf16(sample: Uint8Array, encoding: "utf-16le" | "utf-16be"): boolean {
  const units = Math.floor(sample.length / 2);
  const [low, high] = encoding === "utf-16le" ? [0, 1] : [1, 0];
  let plain = 0;
  for (let unit = 0; unit < units; unit++) {
    const byte = sample[unit * 2 + low] ?? 0;
    const isPrintable = (byte >= 0x20 && byte < 0x7f) || byte === 0x09 || byte === 0x0a || byte === 0x0d;
    if (isPrintable && sample[unit * 2 + high] === 0) plain++;
  }
  return units >= 4 && plain >= units * 0.9;
}

/** Decodes a whole file; undefined if it is not text or cannot be decoded without loss. */
export function decodeText(bytes: Uint8Array): { text: string; format: TextFormat } | undefined {
  const found = detectEncoding(bytes, true);
  if (found === undefined) return undefined;
  const bomLength = found.bom ? (found.encoding === "utf-8" ? 3 : 2) : 0;
  const text = decodeStrictly(bytes.subarray(bomLength), found.encoding);
  if (text === undefined) return undefined;
  const crlf = text.split("\r\n").length - 1;
  const lf = text.split("\n").length - 1 - crlf;
  const lineEnding = crlf > lf ? "crlf" : "lf";
  return { text, format: { ...found, lineEnding, mixed: crlf > 0 && lf > 0 } };
}

/**
 * Encodes a new text in the format of the file that it replaces. Undefined if the text has half a surrogate pair, which
 * no encoding can represent, or a character that the eight-bit encoding lacks. In a file with mixed line endings the text
 * is kept as given: unifying them would change lines that were not edited.
 */
export function encodeText(text: string, format: TextFormat): Uint8Array | undefined {
  if (/\p{Surrogate}/u.test(text)) return undefined;
  const unified = format.mixed ? text : text.replace(/\r?\n/g, format.lineEnding === "crlf" ? "\r\n" : "\n");
  const whole = format.bom && !unified.startsWith("\ufeff") ? `\ufeff${unified}` : unified;
  if (format.encoding === "utf-8") return Buffer.from(whole, "utf8");
  if (format.encoding === "windows-1252") return encodeWindows1252(whole);
  const bytes = Buffer.from(whole, "utf16le");
  return format.encoding === "utf-16be" ? bytes.swap16() : bytes;
}

/** The bytes 0x80 to 0x9f; all others equal their code point. (TextDecoder of Node 20 decodes these wrongly.) */
const WINDOWS_1252 = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ";

function encodeWindows1252(text: string): Uint8Array | undefined {
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    const index =
      code < 0x80 || (code > 0x9f && code <= 0xff) ? code - 0x80 : WINDOWS_1252.indexOf(text.charAt(at));
    if (index < 0 && code >= 0x80) return undefined;
    bytes[at] = index + 0x80;
  }
  return bytes;
}

function decodeStrictly(bytes: Uint8Array, encoding: TextEncoding): string | undefined {
  if (encoding === "windows-1252") {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
    return text.replace(/[\u0080-\u009f]/g, (control) => WINDOWS_1252.charAt(control.charCodeAt(0) - 0x80));
  }
  try {
    return new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return undefined; // the bytes are invalid in this encoding
    throw error;
  }
}
