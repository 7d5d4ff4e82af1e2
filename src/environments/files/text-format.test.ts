import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeText, detectEncoding, encodeText, PLAIN_FORMAT } from "./text-format.ts";

const rewrite = (old: Uint8Array, text: string): Buffer => {
  const decoded = decodeText(old);
  if (decoded === undefined) throw new Error("not text");
  return Buffer.from(encodeText(text, decoded.format) ?? "");
};

test("E3: new text gets the BOM and the line endings of the file that it replaces", () => {
  expect(rewrite(Buffer.from("\ufeffa\r\nb\r\n"), "x\ny\n").toString()).toBe("\ufeffx\r\ny\r\n");
  expect(rewrite(Buffer.from("a\nb\n"), "x\r\ny\n").toString()).toBe("x\ny\n");
  expect(rewrite(Buffer.from(""), "x\ny").toString()).toBe("x\ny");
  expect(rewrite(Buffer.from("\ufeffa"), "\ufeffx").toString()).toBe("\ufeffx");
});

test("with mixed line endings the new text is kept as given", () => {
  const old = Buffer.from("a\r\nb\nc\r\n");
  expect(decodeText(old)?.format).toMatchObject({ lineEnding: "crlf", mixed: true });
  expect(rewrite(old, "a\r\nB\nc\r\n").toString()).toBe("a\r\nB\nc\r\n");
});

test("UTF-16 keeps its byte order", () => {
  const little = Buffer.from("\ufeffé漢\r\n", "utf16le");
  expect(rewrite(little, "ü\n")).toEqual(Buffer.from("\ufeffü\r\n", "utf16le"));
  expect(rewrite(Buffer.from(little).swap16(), "ü\n")).toEqual(
    Buffer.from("\ufeffü\r\n", "utf16le").swap16(),
  );
});

test("Latin-1 stays Latin-1, and a character that it lacks is refused", () => {
  const old = Buffer.from("Stra\xdfe \x80 5\r\n", "latin1");
  expect(decodeText(old)).toMatchObject({ text: "Straße € 5\r\n", format: { encoding: "windows-1252" } });
  expect(rewrite(old, "Größe\u0081 – €\n")).toEqual(Buffer.from("Gr\xf6\xdfe\x81 \x96 \x80\r\n", "latin1"));
  expect(encodeText("→", { ...PLAIN_FORMAT, encoding: "windows-1252" })).toBeUndefined();
  // Corrupt UTF-8 text, and an executable.
  for (const bytes of [Buffer.from([0xc3, 0xa9, 0x20, 0xff]), Buffer.from([0x41, 0x01, 0xe9])])
    expect(decodeText(bytes)).toBeUndefined();
});

test("half a surrogate pair is refused instead of being replaced", () => {
  expect(encodeText("a\ud83d", PLAIN_FORMAT)).toBeUndefined();
  expect(encodeText("a\u{1f600}", PLAIN_FORMAT)).toEqual(Buffer.from("a\u{1f600}"));
});

test("bytes that decode as text encode to the same bytes", () => {
  const endings = fc.constantFrom("\n", "\r\n");
  const texts = fc.tuple(fc.boolean(), fc.array(fc.tuple(fc.string({ unit: "binary" }), endings)));
  fc.assert(
    fc.property(texts, fc.constantFrom("utf8", "utf16le"), ([bom, lines], encoding) => {
      const bytes = Buffer.from((bom ? "\ufeff" : "") + lines.flat().join(""), encoding as BufferEncoding);
      const decoded = decodeText(bytes);
      if (decoded) expect(Buffer.from(encodeText(decoded.text, decoded.format) ?? "")).toEqual(bytes);
    }),
  );
});

test("a sample may end inside a character, a whole file may not", () => {
  const cut = Buffer.from("aé").subarray(0, 2);
  expect(detectEncoding(cut, false)).toEqual({ encoding: "utf-8", bom: false });
  expect(detectEncoding(cut, true)).toBeUndefined();
});
