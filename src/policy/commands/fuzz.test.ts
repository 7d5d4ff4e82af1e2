import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { seededRandom } from "../../../test/board-simulation/seeded-random.ts";
import { scale } from "../../../test/support/scale.ts";
import { checkReading } from "../hardline/check-hardline.ts";
import { readCommand } from "../shell-reader/read-command.ts";
import { classifyCommand } from "./classify-command.ts";
import { isReadOnly } from "./read-only.ts";

const FACTS = { home: "/home/ann", cwd: "/home/ann/project", hermesHome: "/home/ann/.hermes" };
const COMMANDS: readonly string[] = ["reviewed", "everyday", "agents"]
  .flatMap((name): { readonly run: string }[] =>
    parse(readFileSync(new URL(`../../../test/fixtures/commands/${name}.yaml`, import.meta.url), "utf8")),
  )
  .map(({ run }) => run);
/** Characters and words that mean something to a shell or in inline code, and our placeholders. */
const TOKENS = [
  ..."$ $( $(( ` ' \" \\ \n \t ; & | && || > >> < <<X <<< <( ( ) { } [[ ]] * ? [a-z] ~ # ! = -- -rf".split(
    " ",
  ),
  ..."\0 \x1b[ \uFFFC \u202E é 😀 \uD800 $@ $IFS $'\\x72' do done case esac if fi for function eval exec".split(
    " ",
  ),
  ..."sh\u00A0-c xargs env sudo".split(" "),
  ...["{", "{x:-y}", "{x//a/b}"].map((rest) => `$${rest}`),
];
/** A command that takes longer has its growth measured. Ordinary commands take less than a thousandth of this. */
const SUSPICIOUS_MS = 300;
const MAX_GROWTH = 3.5;

function mutate(text: string, random: (below: number) => number): string {
  const pick = <Item>(items: readonly Item[]): Item => items[random(items.length)] as Item;
  const from = random(text.length + 1);
  const to = Math.min(text.length, from + random(12));
  const part = text.slice(from, to);
  return pick([
    () => text.slice(0, from) + text.slice(to),
    () => text.slice(0, from) + pick(TOKENS) + text.slice(from),
    () =>
      text.slice(0, from) + part.repeat(random(1 + Math.floor(4_000 / (part.length + 1)))) + text.slice(to),
    () => text.slice(0, from) + pick(COMMANDS) + text.slice(to),
    () =>
      `${text.slice(0, from)}${pick(["'", '"', "$(", "`", "("])}${part}${pick(["'", '"', ")", "`"])}${text.slice(to)}`,
    () => pick(["sh -c ", "eval ", "python3 -c ", "node -e ", "xargs "]) + JSON.stringify(text),
  ])();
}

function judge(text: string): void {
  const reading = readCommand(text, FACTS);
  if ("unreadable" in reading) return;
  checkReading(reading, FACTS);
  classifyCommand(reading, FACTS);
  isReadOnly(reading, FACTS);
}

function measure(text: string): number {
  const startedAt = performance.now();
  judge(text);
  return performance.now() - startedAt;
}

test(
  "K1, K4: no text makes the reader or the classifier crash or take more than linear time",
  () => {
    const until = performance.now() + scale.fuzzMs;
    for (let seed = 1; performance.now() < until; seed++) {
      const next = seededRandom(seed);
      const random = (below: number): number => Math.floor(next() * below);
      let text = COMMANDS[random(COMMANDS.length)] ?? "";
      for (let count = random(6); count >= 0; count--) text = mutate(text, random).slice(0, 20_000);
      try {
        if (measure(text) < SUSPICIOUS_MS) continue;
        // Measured twice, because another process may have interrupted one of them.
        const once = Math.max(measure(text), measure(text));
        const doubled = `${text}\n${text}`;
        const twice = Math.min(measure(doubled), measure(doubled));
        if (once > SUSPICIOUS_MS) expect(twice / once).toBeLessThan(MAX_GROWTH);
      } catch (cause) {
        throw new Error(`seed ${seed} fails with ${JSON.stringify(text)}`, { cause });
      }
    }
  },
  scale.fuzzMs + 120_000,
);
