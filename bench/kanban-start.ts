import { spawnSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openBoardStore } from "../src/board/board-store.ts";
import { neverAborted } from "../src/lib/time/never-aborted.ts";
import { type Measurement, median, medians, milliseconds } from "./bench.ts";

const ROUNDS = 15;
const SCRIPT = { answers: [{ tools: [{ name: "kanban_complete", input: { summary: "done" } }] }] };

/** How long a user waits for the commands of a board, compared with the fastest command of the program (`peer`). */
export async function measureKanbanStart(folder: string): Promise<readonly Measurement[]> {
  const root = join(folder, "kanban-start");
  const home = join(root, "profiles", "worker");
  await mkdir(home, { recursive: true, mode: 0o700 });
  await writeFile(join(home, "script.json"), JSON.stringify(SCRIPT));
  const model = `model:\n  provider: scripted\n  default: ${join(home, "script.json")}\n`;
  await writeFile(join(home, "config.yaml"), model);
  const env = { PATH: process.env["PATH"] ?? "", HOME: folder, HERMES_HOME: root };
  const hermes = (...args: readonly string[]): void => {
    const { status, stderr } = spawnSync(resolve("hermes"), args, { env, cwd: folder });
    if (status !== 0) throw new Error(`hermes ${args.join(" ")} ended with ${status}: ${stderr}`);
  };
  await using store = await openBoardStore({ root, databaseUrl: "", slug: "default" }, {}, neverAborted);
  const person = store.as({ kind: "operator", name: "bench" });
  for (let n = 0; n < 20; n++) await person.create({ title: `a task ${n}`, hold: true }, neverAborted);
  const version = (): void => hermes("--version");
  const row = async (name: string, action: () => void, max: number): Promise<Measurement> => {
    const found = await medians(ROUNDS, action, version);
    return {
      name: `${name} ÷ hermes --version`,
      ours: milliseconds(found.ours),
      peer: milliseconds(found.peer),
      ratio: found.ours / found.peer,
      budget: { max },
    };
  };
  const hasOpen = async (): Promise<boolean> => {
    const { tasks } = await store.list({ assignee: "worker" }, neverAborted);
    return tasks.some(({ status }) => status !== "done");
  };
  return [
    await row("hermes kanban create", () => hermes("kanban", "create", "a task", "--triage"), 2),
    await row("hermes kanban list", () => hermes("kanban", "list"), 2),
    await row("hermes kanban dispatch, nothing to do", () => hermes("kanban", "dispatch"), 2),
    await dispatchOne(),
  ];

  async function dispatchOne(): Promise<Measurement> {
    const times = { ours: [] as number[], peer: [] as number[] };
    for (let round = 0; round < ROUNDS; round++) {
      await person.create({ title: "work", assignee: "worker" }, neverAborted);
      const started = performance.now();
      hermes("kanban", "dispatch");
      times.ours.push(performance.now() - started);
      while (await hasOpen()) await sleep(20);
      await sleep(200); // time for its supervisor to exit
      const again = performance.now();
      version();
      times.peer.push(performance.now() - again);
    }
    const [ours, peer] = [median(times.ours), median(times.peer)];
    return {
      name: "hermes kanban dispatch of one task ÷ hermes --version",
      ours: milliseconds(ours),
      peer: milliseconds(peer),
      ratio: ours / peer,
      budget: { max: 8 },
    };
  }
}
