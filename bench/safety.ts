import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { parse } from "yaml";
import { createRedactor } from "../src/lib/redact/redactor.ts";
import { classifyCommand } from "../src/policy/commands/classify-command.ts";
import { readCommand } from "../src/policy/shell-reader/read-command.ts";
import { ours } from "./agent.ts";
import { type Bench, type Measurement, median, medians, milliseconds } from "./bench.ts";
import type { openGate } from "./decision-gate.ts";

/** 10,000 decisions and 2,000 steps of a local agent, measured alternately so that a slow phase of the machine affects both. */
const ROUNDS = 10;
const BURSTS_PER_ROUND = 50;
/** Few enough to fit into one time slice of a busy processor: a step mostly waits and is hardly slowed by other processes. */
const DECISIONS_PER_BURST = 20;
const STEPS_PER_ROUND = 200;
/** Mixes the kinds of commands, which are grouped in their files. */
const STRIDE = 101;
/** A decision may take this share of a step. */
const MAX_SHARE = 0.03;
const LINEAR_ROUNDS = 9;
/** Twice the input may take a little more than twice the time. */
const MAX_GROWTH = 2.3;
const COMMAND_CHARS = 100_000;
const OUTPUT_CHARS = 10_000_000;
const FACTS = { home: "/home/ann", cwd: "/home/ann/project", hermesHome: "/home/ann/.hermes" };

/** What the decision about a call adds to a step, and whether reading and redacting take linear time. */
export const safetyBench: Bench = {
  name: "safety",
  async run() {
    const commands = await loadCommands();
    return [await measureDecisions(commands), await measureReading(commands), await measureRedaction()];
  },
};

/** Commands that users and models typed, harmless and harmful. */
async function loadCommands(): Promise<readonly string[]> {
  const files = ["everyday", "reviewed", "agents"].map((name) => `test/fixtures/commands/${name}.yaml`);
  const lists = await Promise.all(files.map(async (path) => parse(await readFile(path, "utf8"))));
  return (lists.flat() as readonly { readonly run: string }[]).map(({ run }) => run);
}

async function measureDecisions(commands: readonly string[]): Promise<Measurement> {
  const folder = await mkdtemp(join(tmpdir(), "hermes-bench-"));
  try {
    const built = await loadGate();
    await using gate = await built.openGate(folder);
    const runSteps = ours(join(folder, "steps"), {}, { calls: STEPS_PER_ROUND });
    const decisionMs: number[] = [];
    const stepMs: number[] = [];
    let decided = 0;
    for (let round = 0; round < ROUNDS + 1; round++) {
      const bursts: number[] = [];
      for (let burst = 0; burst < BURSTS_PER_ROUND; burst++) {
        const started = performance.now();
        for (let count = 0; count < DECISIONS_PER_BURST; count++)
          await gate.decide(commands[(decided++ * STRIDE) % commands.length] ?? "");
        bursts.push((performance.now() - started) / DECISIONS_PER_BURST);
      }
      const { steps } = await runSteps();
      if (round === 0) continue; // warms the caches
      decisionMs.push(...bursts);
      stepMs.push(...steps);
    }
    const [mine, step] = [median(decisionMs), median(stepMs)];
    return {
      name: "10,000 decisions ÷ 10,000 local steps",
      ours: `${(mine * 10).toFixed(2)} s`,
      peer: `${(step * 10).toFixed(1)} s`,
      ratio: mine / step,
      budget: { max: MAX_SHARE },
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Bundles the gate. The loader of this script names every function at creation, which would slow decisions down. */
async function loadGate(): Promise<{ readonly openGate: typeof openGate }> {
  const outfile = resolve("node_modules/.bench/decision-gate.mjs");
  await build({
    entryPoints: ["bench/decision-gate.ts"],
    outfile,
    bundle: true,
    packages: "external",
    platform: "node",
    format: "esm",
    target: "node20.19",
  });
  return import(outfile);
}

/** Reads and classifies a script of ordinary commands, and a script of twice its length. */
async function measureReading(commands: readonly string[]): Promise<Measurement> {
  const harmless = commands.filter((command) => judge(command) === 0);
  const judgeScript = (length: number) => {
    const lines: string[] = [];
    for (let size = 0; size < length; size += (lines.at(-1)?.length ?? 0) + 1)
      lines.push(harmless[lines.length % harmless.length] ?? "");
    const text = lines.join("\n");
    return () => {
      if (judge(text) === undefined) throw new Error("the script of the bench cannot be read");
    };
  };
  const found = await medians(LINEAR_ROUNDS, judgeScript(2 * COMMAND_CHARS), judgeScript(COMMAND_CHARS));
  return growth("reading commands of 200 kB ÷ 100 kB", found);
}

/** The number of findings; undefined if the text cannot be read. */
function judge(text: string): number | undefined {
  const reading = readCommand(text, FACTS);
  return "unreadable" in reading ? undefined : classifyCommand(reading, FACTS).length;
}

async function measureRedaction(): Promise<Measurement> {
  const { redact } = createRedactor({ secrets: ["a-secret-of-the-profile"] });
  const redactText = (length: number) => {
    const text = repeat(OUTPUT, length);
    return () => redact(text);
  };
  const found = await medians(LINEAR_ROUNDS, redactText(OUTPUT_CHARS), redactText(OUTPUT_CHARS / 2));
  return growth("redacting 10 MB ÷ 5 MB", found);
}

/** Output of a build with occasional secrets. The keys are assembled here, so that secret scanners do not report them. */
const OUTPUT = [
  ..."src/app.ts:12:3 - warning: value of `count` is never read\n".repeat(40).split(/(?<=\n)/),
  `export GITHUB_TOKEN=${"ghp_"}${"a1B2".repeat(9)}\n`,
  "GET https://user:hunter2hunter2@example.com/path?query=1#part 200 13ms\n",
  "Authorization: Bearer abcdefghijklmnop\n",
  '{"level":"info","msg":"done","token":"a-secret-of-the-profile"}\n',
].join("");

function repeat(text: string, length: number): string {
  return text.repeat(Math.ceil(length / text.length)).slice(0, length);
}

function growth(name: string, { ours: double, peer: single }: { ours: number; peer: number }): Measurement {
  return {
    name,
    ours: milliseconds(double),
    peer: milliseconds(single),
    ratio: double / single,
    budget: { max: MAX_GROWTH },
  };
}
