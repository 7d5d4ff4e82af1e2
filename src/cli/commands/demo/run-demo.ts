import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { AgentEvent } from "../../../agent/events.ts";
import { unifiedDiff } from "../../../environments/files/edit/patch/unified-diff.ts";
import { readTextFile } from "../../../lib/files/files.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import type { CommandContext } from "../../context.ts";
import { colourDiff, createEventView, type EventView } from "../../terminal/event-view.ts";
import { wrapIndented } from "../../terminal/fit-text.ts";
import { chooseEnvironment, type DemoEnvironment } from "./choose-environment.ts";
import { BROKEN, CONTINUE, createScript, PROGRAM, REPAIRED, TASK, writeProject } from "./demo-project.ts";
import {
  CASES,
  type Demo,
  type DemoOptions,
  type DemoProcess,
  demoFailed,
  KILLED_AFTER_CASES,
  openDemo,
} from "./open-demo.ts";

const POLL_MS = 10;

/** Runs the demo, from an empty folder to the repaired program. Throws if any result is not as expected. */
export async function runDemo(
  context: CommandContext,
  options: DemoOptions & { readonly environment: DemoEnvironment },
): Promise<void> {
  const { terminal } = context;
  const { bold, red, dim } = terminal.colours;
  await using demo = await openDemo(context, options);
  const { signal, pause } = demo;
  await Promise.all([
    writeProject(demo.project, options),
    writeFile(demo.scriptPath, JSON.stringify(createScript(options))),
  ]);

  terminal.print(`${bold("Hermes demo")}: fix a bug, get killed halfway and resume.\n`);
  terminal.print("  model     scripted: it follows a file. No key, no network.");
  const where = await chooseEnvironment(context, demo, options.environment);
  terminal.print(`  ${wrapIndented(`commands  run ${where}.`, 76, 12)}`);
  terminal.print("  the rest  is real: agent, tools, files, processes.");
  await pause(800);

  const view = createEventView(terminal, terminal.print);
  const model = ["-m", `scripted:${demo.scriptPath}`, "--json"];
  terminal.print(`\n${bold(`$ hermes chat -m scripted:script.json -q "${TASK}"`)}`);
  const first = demo.start(["chat", "-q", TASK, ...model], signal);
  await killInTheMiddle(demo, first, view);
  const { length: done } = await demo.casesDone();
  terminal.print(
    `\n${red(`kill -9 ${first.pid}`)} in the middle of that command, at case ${done} of ${CASES}.`,
  );
  terminal.print("Hermes could not clean up. Everything up to that point is in its session.");
  await pause(1_200);

  terminal.print(`\n${bold(`$ hermes chat -c -m scripted:script.json -q "${CONTINUE}"`)}`);
  terminal.print(dim("(the model sees which call was interrupted; Hermes repeats no call by itself)"));
  const second = demo.start(["chat", "-c", "-q", CONTINUE, ...model], signal);
  await show(second, view);
  const { exitCode, stderr } = await second.ended;
  signal.throwIfAborted();
  if (exitCode !== 0) throw demoFailed(`the second process ended with ${exitCode ?? "a signal"}`, stderr);
  await pause(500);

  terminal.print(`\n${bold("The result in the folder:")}`);
  await showResult(context, demo);
  demo.end([
    ["setup", "choose a model, then chat"],
    ['-z "What is in this folder?"', "ask a question"],
    ['chat -q "Run the tests"', "the same, with progress"],
    ["sandbox --help", "run commands in a container"],
    ["doctor", "check this machine"],
    ["demo board", "several agents on a board"],
  ]);
}

/** Kills the process once the long check has done enough cases. */
async function killInTheMiddle(demo: Demo, child: DemoProcess, view: EventView): Promise<void> {
  const { signal } = demo;
  let isOver = false;
  const waitAndKill = async (): Promise<void> => {
    while (!isOver && (await demo.casesDone()).length < KILLED_AFTER_CASES)
      await systemClock.sleep(POLL_MS, signal);
    child.kill();
  };
  const showAll = async (): Promise<void> => {
    await show(child, view);
    isOver = true;
  };
  await Promise.all([waitAndKill(), showAll()]);
  const { exitCode, stderr } = await child.ended;
  signal.throwIfAborted();
  if (exitCode !== null) throw demoFailed("the first process ended before it could be killed", stderr);
}

async function show(child: DemoProcess, view: EventView): Promise<void> {
  for await (const line of child.lines) {
    // A kill may cut the last line.
    if (line.endsWith("}")) view.show(JSON.parse(line) as AgentEvent);
  }
  view.endLine();
}

/** Checks and prints the files, because the agent's answer proves nothing. */
async function showResult({ terminal }: CommandContext, demo: Demo): Promise<void> {
  const after = await readTextFile(join(demo.project, PROGRAM));
  for (const line of unifiedDiff(PROGRAM, BROKEN, after).trimEnd().split("\n"))
    terminal.print(`    ${colourDiff(terminal.colours, line)}`);
  if (after !== REPAIRED) throw demoFailed(`${PROGRAM} has unexpected content`);
  await demo.confirmCases();
}
