import { expect, it } from "vitest";
import { parseImage } from "./image.ts";

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(" ", ""), "hex");
/** 16,000 pixels wide, 2 high. */
const WIDE = {
  PNG: "89504e470d0a1a0a 0000000d49484452 00003e80 00000002",
  "JPEG with a preview segment": "ffd8 ffe00004 0000 ffc2000b 08 0002 3e80 01",
  GIF: "474946383961 803e 0200",
  "WebP (lossy)": "52494646 00000000 57454250 56503820 00000000 000000 9d012a 803e 0200",
  "WebP (lossless)": "52494646 00000000 57454250 5650384c 00000000 2f 7f7e0000",
  "WebP (extended)": "52494646 00000000 57454250 56503858 0a000000 00000000 7f3e00 010000",
};

it.each(Object.entries(WIDE))("A11: the size of a %s image is read from its header", (_, content) => {
  expect(parseImage(hex(content))).toEqual({
    problem: expect.stringMatching(/^it has 16000 x \d+ pixels; the limit is 8000 on each side$/),
  });
});

it("A11: an image of 100 megapixels is refused, and one of ordinary size is accepted", () => {
  const png = (side: string) => parseImage(hex(`89504e470d0a1a0a 0000000d49484452 ${side}${side}`));
  expect(png("00002710")).toEqual({ problem: expect.stringContaining("it has 10000 x 10000 pixels") });
  expect(png("00000400")).toMatchObject({ type: "image", mediaType: "image/png" });
});

it.each([
  ["nothing", Buffer.alloc(0), "it is empty"],
  ["a large file", Buffer.alloc(5 * 1024 * 1024 + 1), "the limit is 5 MB"],
  ["text", Buffer.from("<svg/>"), "its content is not PNG"],
])("A11: %s is refused", (_, bytes, problem) => {
  expect(parseImage(bytes)).toEqual({ problem: expect.stringContaining(problem) });
});

it.each(["ffd8ff", "ffd8ffe00000", "52494646 00000000 57454250 56503820", "47494638396100"])(
  "A11: a header that ends early does not throw (%s)",
  (content) => {
    expect(parseImage(hex(content))).toMatchObject({ type: "image" });
  },
);
