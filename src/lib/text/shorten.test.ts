import fc from "fast-check";
import { expect, it } from "vitest";
import { formatTail, headOf, shorten, tailOf } from "./shorten.ts";

const CHARACTERS = ["a", "ß", "é", "e\u0301", "😀", "👍🏽", "👩‍👩‍👧‍👦", "🇩🇪", "한"];

it("no limit splits a character", () => {
  const texts = fc.array(fc.constantFrom(...CHARACTERS), { maxLength: 12 });
  fc.assert(
    fc.property(texts, fc.nat(60), (characters, most) => {
      const text = characters.join("");
      const segments = [...new Intl.Segmenter().segment(text)].map(({ segment }) => segment);
      let head = "";
      for (const segment of segments) {
        if (head.length + segment.length > most) break;
        head += segment;
      }
      let tail = "";
      for (const segment of segments.toReversed()) {
        if (tail.length + segment.length > most) break;
        tail = segment + tail;
      }
      expect(headOf(text, most)).toBe(head);
      expect(tailOf(text, most)).toBe(tail);
      expect(shorten(text, most + 1).length).toBeLessThanOrEqual(most + 1);
    }),
  );
});

it("a text that fits stays unchanged, and stacked combining marks are split between code points", () => {
  expect(shorten("wörter", 6)).toBe("wörter");
  expect(shorten("wörter", 5)).toBe("wört…");
  const stacked = `a${"\u0301".repeat(500)}😀`;
  expect(headOf(stacked, 300)).toBe(stacked.slice(0, 300));
  expect(headOf(`${"\u{1d167}".repeat(100)}b`, 101)).toBe("\u{1d167}".repeat(50));
});

it.each([
  ["short enough", 20, "short enough"],
  ["a first line\nand the second line", 20, "…and the second line"],
  ["a first line\nof which the end is near\nlast", 31, "…of which the end is near\nlast"],
  ["words and more words", 11, "…more words"],
  ["words and more words", 12, "…more words"],
  ["onesinglelongwordwithoutanyblank", 10, "…tanyblank"],
])("the end of %j in %i characters starts at a word: %j", (text, most, end) => {
  expect(formatTail(text, most)).toBe(end);
});
