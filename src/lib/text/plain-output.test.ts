import fc from "fast-check";
import { expect, it } from "vitest";
import { collapseProgress, createProgressCollapser } from "./collapse-progress.ts";
import { plainOutput } from "./plain-output.ts";

const omitted = (count: number) => ` [${count} earlier states of this line are omitted]`;

it("D1: colours, titles, links and cursor movements are removed, text is kept", () => {
  const text =
    "\x1b[1;31mred\x1b[0m \x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \x1b(Bb\x1b[2K\x9b1mc";
  expect(plainOutput(text)).toBe("red alink bc");
  expect(plainOutput("1 < 2 [0m")).toBe("1 < 2 [0m");
});

it.each([
  ["shares", "10 %\r50 %\r100 %\ndone\n", `100 %${omitted(2)}\ndone\n`],
  ["an erased line", "0%\r50 %\r\x1b[2K100 %\r\r\n\r\n", `100 %${omitted(2)}\n\n`],
  ["spaces over a line", "a 1%\r    \ra 2%\r    \ra 3%", `a 3%${omitted(2)}`],
  [
    "git",
    "Receiving objects:  50% (1/2)\rReceiving objects:  50% (1/2), 1.00 KiB | 2.00 KiB/s\rReceiving objects: 100% (2/2), 9.10 MiB | 4.55 MiB/s, done.\nnext",
    `Receiving objects: 100% (2/2), 9.10 MiB | 4.55 MiB/s, done.${omitted(2)}\nnext`,
  ],
  [
    "tqdm",
    "\r  0%|          | 0/9 [00:00<?, ?it/s]\r 50%|█████     | 5/9 [00:01<00:01, 3.50it/s]\r100%|██████████| 9/9 [00:02<00:00, 4.51it/s]\n",
    `\r100%|██████████| 9/9 [00:02<00:00, 4.51it/s]${omitted(2)}\n`,
  ],
  [
    "curl",
    "  0     0    0     0    0     0      0      0 --:--:-- --:--:-- --:--:--     0\r  5  100M    5 5632k    0     0  2816k      0  0:00:36  0:00:02  0:00:34 2816k\r100  100M  100  100M    0     0  2816k      0  0:00:36  0:00:36 --:--:-- 2816k\n",
    `100  100M  100  100M    0     0  2816k      0  0:00:36  0:00:36 --:--:-- 2816k${omitted(2)}\n`,
  ],
  [
    "rsync",
    "  1,238,099  10%  146.38kB/s    0:00:08\r  2,238,099  20%  146.38kB/s    0:00:07\r  9,238,099 100%    1.38MB/s    0:00:06\n",
    `  9,238,099 100%    1.38MB/s    0:00:06${omitted(2)}\n`,
  ],
  ["a spinner", "⠋ installing\r⠙ installing\r⠹ installing\ndone", `⠹ installing${omitted(2)}\ndone`],
  ["steps", "step 1/3\rstep 2/3\rstep 3/3\n", `step 3/3${omitted(2)}\n`],
  ["a bar", "[#    ]\r[##   ]\r[###  ]\r[#### ]\n", `[#    ]\r[#### ]${omitted(2)}\n`],
  ["text before it", "keep me\r1%\r2%\r3%\n", `keep me\r3%${omitted(2)}\n`],
])("%s: only the last state is shown, with the number of omitted states", (_, text, expected) => {
  expect(plainOutput(text)).toBe(expected);
});

it.each([
  "id,name\r1,Ann\r2,Bob\r3,Cid",
  "keep me\rno newline",
  "a\rb",
  "1\r2\r3\r4",
  "Item 1\rItem 2\rItem 3",
  "Ann 10%\rBob 20%\rCid 30%",
  "10%,a\r20%,b\r30%,c",
  "10%;1\r20%;2\r30%;3",
  "10%\t1\r20%\t2\r30%\t3",
  "1/2/2024 5\r1/3/2024 6\r1/4/2024 7",
  "09:00 5\r09:15 6\r09:30 7",
  "page 1/3\rpage 1/4\rpage 1/5",
  "50 %\r100 %",
  "1%\n2%\n3%\n",
  "\r\r\rx\r",
  "# Title\r\r- 1\r- 2\r- 3\r",
])("text that is not progress stays unchanged: %j", (text) => {
  expect(plainOutput(text)).toBe(text);
});

it("lines that end with CR and LF end with LF", () => {
  expect(plainOutput("one\r\ntwo\r\r\n")).toBe("one\ntwo\n");
});

it("a stream gives the same result as the complete text, whatever the chunk size, and other bytes are kept", () => {
  const word = fc.constantFrom(
    "10 %",
    "⠋ go",
    "a",
    "\r",
    "\r",
    "\n",
    "é",
    "1/9",
    "x".repeat(3_000),
    "\x1b[2K",
  );
  fc.assert(
    fc.property(fc.array(word, { maxLength: 30 }), fc.integer({ min: 1, max: 5_000 }), (words, size) => {
      const bytes = Buffer.concat([Buffer.from(words.join("")), Buffer.from([0xff])]);
      const atOnce = createProgressCollapser();
      const inChunks = createProgressCollapser();
      const expected = Buffer.concat([atOnce.take(bytes), atOnce.end()]);
      const parts: Uint8Array[] = [];
      for (let at = 0; at < bytes.length; at += size)
        parts.push(inChunks.take(bytes.subarray(at, at + size)));
      expect(Buffer.concat([...parts, inChunks.end()]).equals(expected)).toBe(true);
      if (!/earlier states/.test(expected.toString("latin1"))) expect(expected.equals(bytes)).toBe(true);
    }),
  );
});

it("a line that is too long for progress is passed through as it arrives", () => {
  const collapser = createProgressCollapser();
  const piece = Buffer.alloc(64 * 1024, "x");
  expect(collapser.take(piece)).toHaveLength(piece.length);
  expect(collapser.take(piece)).toHaveLength(piece.length);
  expect(collapser.end()).toHaveLength(0);
});

it("collapsing twice gives the same text as collapsing once", () => {
  const once = collapseProgress("1%\r2%\r3%\n4%\r5%\r6%\n");
  expect(collapseProgress(once)).toBe(once);
});
