import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { AgentEvent } from "../../../agent/events.ts";
import { unifiedDiff } from "../../../environments/files/edit/unified-diff.ts";
import { systemClock } from "../../../lib/clock.ts";
import { readTextFile } from "../../../lib/files.ts";
import type { CommandContext } from "../../context.ts";
import { colourDiff, createEventView, type EventView } from "../../event-view.ts";
import { choosePlace, type WantedPlace } from "./choose-place.ts";
import {
  BROKEN,
  CASES,
  createScript,
  GO_ON,
  PROGRAM,
  PROGRESS,
  REPAIRED,
  TASK,
  writeProject,
} from "./project.ts";
import { type Actor, openStage, type Stage } from "./stage.ts";
import { ownName, renderSteps, unexpected, wrapped } from "./words.ts";

export interface DemoOptions {
  readonly place: WantedPlace;
  readonly isFast: boolean;
}

const KILLED_AFTER_CASES = 8;
const LOOK_EVERY_MS = 10;
const GIVES_UP_MS = 300_000; // of a machine that has much else to do

/** The demonstration, from an empty folder to the repaired program; resolves only when all is as it should be. */
export async function runDemo(context: CommandContext, options: DemoOptions): Promise<void> {
  const { terminal } = context;
  const { bold, red, dim } = terminal.colours;
  const limit = new AbortController();
  setTimeout(() => limit.abort(unexpected("it took too long")), GIVES_UP_MS).unref();
  const signal = AbortSignal.any([context.signal, limit.signal]);
  const pause = (ms: number): Promise<void> => systemClock.sleep(options.isFast ? 0 : ms, signal);
  const startedAt = performance.now();
  await using stage = await openStage(context);
  await Promise.all([
    writeProject(stage.project, options),
    writeFile(stage.scriptPath, JSON.stringify(createScript(options))),
  ]);

  terminal.print(`${bold("Hermes demo")}: a bug gets fixed, with a kill in the middle.\n`);
  terminal.print("  model     scripted: it follows a file instead of thinking. No key, no network.");
  terminal.print(wrapped("  commands  ", `run ${await choosePlace(context, stage, options.place)}.`));
  terminal.print("  the rest  is real: the agent, its tools, the files, the processes.");
  await pause(800);

  const view = createEventView(terminal, terminal.print);
  const model = ["-m", `scripted:${stage.scriptPath}`, "--json"];
  terminal.print(`\n${bold(`$ hermes chat -m scripted:script.json -q "${TASK}"`)}`);
  const first = stage.start(["chat", "-q", TASK, ...model], signal);
  await killInTheMiddle(stage, first, view, signal);
  const { length: done } = await casesDone(stage);
  terminal.print(
    `\n${red(`kill -9 ${first.pid}`)} in the middle of that command, at case ${done} of ${CASES}.`,
  );
  terminal.print("Hermes had no chance to say goodbye. What had happened is in its session.");
  await pause(1_200);

  terminal.print(`\n${bold(`$ hermes chat -c -m scripted:script.json -q "${GO_ON}"`)}`);
  terminal.print(dim("(the model is told what was cut off; nothing is run again behind its back)"));
  const second = stage.start(["chat", "-c", "-q", GO_ON, ...model], signal);
  await show(second, view);
  const { exitCode, stderr } = await second.ended;
  signal.throwIfAborted();
  if (exitCode !== 0) throw unexpected(`the second process ended with ${exitCode ?? "a signal"}`, stderr);
  await pause(500);

  terminal.print(`\n${bold("In the folder, seen from outside:")}`);
  await showResult(context, stage);
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  terminal.print(
    `\nThat took ${seconds} s, and leaves nothing behind. ${bold("Next, with a real model:")}\n`,
  );
  terminal.print(nextSteps(ownName()));
}

/** Kills the process as soon as the long check has come far enough. */
async function killInTheMiddle(
  stage: Stage,
  actor: Actor,
  view: EventView,
  signal: AbortSignal,
): Promise<void> {
  let isOver = false;
  const lookAndKill = async (): Promise<void> => {
    while (!isOver && (await casesDone(stage)).length < KILLED_AFTER_CASES)
      await systemClock.sleep(LOOK_EVERY_MS, signal);
    actor.kill();
  };
  const showAll = async (): Promise<void> => {
    await show(actor, view);
    isOver = true;
  };
  await Promise.all([lookAndKill(), showAll()]);
  const { exitCode, stderr } = await actor.ended;
  signal.throwIfAborted();
  if (exitCode !== null) throw unexpected("the first process ended before it could be killed", stderr);
}

async function show(actor: Actor, view: EventView): Promise<void> {
  for await (const line of actor.lines) {
    // A kill may cut the last line.
    if (line.endsWith("}")) view.show(JSON.parse(line) as AgentEvent);
  }
  view.endLine();
}

async function casesDone({ project }: Stage): Promise<string[]> {
  const text = (await readTextFile(join(project, PROGRESS))) ?? "";
  return text.split("\n").filter((line) => line !== "");
}

/** What the agent says is one thing; this looks for itself. */
async function showResult({ terminal }: CommandContext, stage: Stage): Promise<void> {
  const after = await readTextFile(join(stage.project, PROGRAM));
  const cases = await casesDone(stage);
  for (const line of unifiedDiff(PROGRAM, BROKEN, after).trimEnd().split("\n"))
    terminal.print(`    ${colourDiff(terminal.colours, line)}`);
  if (after !== REPAIRED) throw unexpected(`${PROGRAM} is not what it should be`);
  if (cases.length !== CASES || new Set(cases).size !== CASES)
    throw unexpected(`${PROGRESS} has ${cases.length} lines instead of ${CASES}`);
  terminal.print(`    ${CASES} of ${CASES} cases were checked, each of them once.`);
}

function nextSteps(name: string): string {
  return renderSteps([
    [`${name} config set ANTHROPIC_API_KEY`, "asks for the key and stores it"],
    [`${name} -z "What is in this folder?"`, "asks, prints the answer, ends"],
    [`${name} chat -q "Run the tests"`, "the same, and shows what happens"],
    [`${name} sandbox --help`, "commands in a container instead"],
    [`${name} doctor`, "what is in place, and what is not"],
    [`${name} demo board`, "several agents at work on a board"],
  ]);
}
