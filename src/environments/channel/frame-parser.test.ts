import fc from "fast-check";
import { expect, test } from "vitest";
import { scale } from "../../../test/support/scale.ts";
import { createFrameParser } from "./frame-parser.ts";

const PREFIX = "0123456789abcdef";
const TOKEN = `${PREFIX}1111111111111111`;
const STATE = `${PREFIX}2222222222222222`;

function parse(chunks: readonly Buffer[]) {
  const seen = { output: "", answers: [] as string[], states: [] as (string | undefined)[] };
  const parser = createFrameParser(PREFIX, {
    output: (bytes) => {
      seen.output += Buffer.from(bytes).toString("latin1");
    },
    answer: (_, letter, fields) => seen.answers.push(letter + fields),
    state: (_, text) => seen.states.push(text),
  });
  parser.expect(TOKEN, "answers");
  parser.expect(STATE, "state");
  for (const chunk of chunks) parser.push(chunk);
  parser.flush();
  return { ...seen, parser, seen };
}

test("answers and states are extracted wherever the stream is split, and the rest is output, byte for byte", () => {
  const piece = fc.oneof(
    fc.string({ unit: "binary-ascii" }).map((text) => ({ text, output: text, answer: "", state: "" })),
    fc
      .constantFrom("S12", "X0", "C1", "p1 2 3")
      .map((answer) => ({ text: `${TOKEN}${answer};`, output: "", answer, state: "" })),
    fc
      .constantFrom("/tmp\nexport A='1'\n", "")
      .map((state) => ({ text: `${STATE}${state}${STATE}`, output: "", answer: "", state: `[${state}]` })),
    fc
      .constantFrom(PREFIX, `${PREFIX}3333333333333333X0;`, PREFIX.slice(0, 9), `${TOKEN.slice(0, 20)} `)
      .map((text) => ({ text, output: text, answer: "", state: "" })),
  );
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 12 }),
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
      (pieces, cuts) => {
        const bytes = Buffer.from(pieces.map(({ text }) => text).join(""), "latin1");
        const chunks: Buffer[] = [];
        for (let start = 0, cut = 0; start < bytes.length; cut++) {
          const length = cuts[cut % cuts.length] ?? 1;
          chunks.push(bytes.subarray(start, start + length));
          start += length;
        }
        const found = parse(chunks);
        expect(found.output).toBe(pieces.map(({ output }) => output).join(""));
        expect(found.answers).toEqual(pieces.flatMap(({ answer }) => (answer === "" ? [] : [answer])));
        expect(found.states.map((state) => `[${state}]`)).toEqual(
          pieces.flatMap(({ state }) => (state === "" ? [] : [state])),
        );
      },
    ),
    { numRuns: scale.cases },
  );
});

test("a state that is never closed does not swallow the output after its command", () => {
  const { parser, seen } = parse([Buffer.from(`before${STATE}/tmp\nexp`)]);
  parser.forget(STATE);
  parser.push(Buffer.from("after"));
  expect(seen).toMatchObject({ output: "beforeafter", states: [] });
});

test("a state beyond the limit is reported as undefined", () => {
  const { states } = parse([Buffer.from(STATE), Buffer.alloc(2_000_000, "x"), Buffer.from(STATE)]);
  expect(states).toEqual([undefined]);
});
