import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { stringify } from "yaml";
import type { AgentEvent } from "../../src/agent/events.ts";
import type { Approval } from "../../src/approvals/approval.ts";
import type { RecordedDecision } from "../../src/approvals/decision-log.ts";
import { loadSqlite } from "../../src/lib/sqlite/sqlite.ts";
import type { ScriptInput } from "../../src/providers/scripted/script.ts";
import { type HermesOptions, type HermesRun, tempHome } from "./hermes.ts";

type Settings = Readonly<Record<string, unknown>>;
export type ListedApproval = Approval & { readonly isHeld: boolean };

/** A call of the terminal, as an answer of a scripted model. */
export const terminal = (command: string) => ({ tools: [{ name: "terminal", input: { command } }] });

/** Asks before every command that starts with `echo ran`, and waits for `hermes approvals`. */
export const ASKING = { mode: "manual", single_query_mode: "ask", ask: ["echo ran*"] };

/** The command that ASKING asks about; each run of it adds a line to `ran.txt`. */
export const RUN = "echo ran >> ran.txt";

/** A home whose model follows a script, with a working folder outside the home. */
export async function openApprovalHome(script: ScriptInput, approvals: Settings = ASKING) {
  const home = await tempHome();
  const work = join(home.folder, "work");
  const scriptPath = join(home.folder, "script.json");
  const configPath = join(home.path, "config.yaml");
  const model = ["-m", `scripted:${scriptPath}`];
  await Promise.all([mkdir(work), mkdir(home.path, { mode: 0o700 })]);
  await writeFile(scriptPath, JSON.stringify(script));
  await writeFile(configPath, stringify({ approvals }));

  const list = async (...args: readonly string[]): Promise<ListedApproval[]> =>
    (await home.hermes(["approvals", "list", "--json", ...args])).json();
  return {
    ...home,
    work,
    scriptPath,
    configPath,
    file: (name: string) => join(work, name),
    /** Starts a run with the scripted model in the folder. */
    start: (args: readonly string[], options: HermesOptions = {}) =>
      home.start([...args, ...model], { cwd: work, ...options }),
    /** Starts a run and waits for its end. */
    run: (args: readonly string[], options: HermesOptions = {}) =>
      home.start([...args, ...model], { cwd: work, ...options }).ended,
    /** The questions that `hermes approvals list` prints. */
    list,
    /** Waits until one question waits for an answer, and returns it. */
    async question(): Promise<ListedApproval> {
      await expect.poll(() => countWaiting(join(home.path, "sessions.sqlite"))).toBe(1);
      const [question] = await list();
      if (question === undefined) throw new Error("the question was answered meanwhile");
      return question;
    },
    async audit(...args: readonly string[]): Promise<RecordedDecision[]> {
      return (await home.hermes(["audit", "--json", ...args])).json();
    },
    /** How often the command of ASKING ran. */
    runs: async (): Promise<number> =>
      (await readFile(join(work, "ran.txt"), "utf8").catch(() => "")).split("\n").length - 1,
    [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
  };
}

/** Reads the database itself, because it is polled and a command takes much longer than a query. */
async function countWaiting(path: string): Promise<number> {
  if (!existsSync(path)) return 0;
  const Connection = await loadSqlite();
  const connection = new Connection(path, { readonly: true });
  try {
    const query = "select count(*) from approval where state = 'waiting'";
    return Number(connection.prepare(query).pluck().get());
  } catch (error) {
    if (error instanceof Error && /no such table|locked/.test(error.message)) return 0; // it is being created
    throw error;
  } finally {
    connection.close();
  }
}

/** The events that a run with `--json` has printed. */
export function eventsOf({ stdout }: Pick<HermesRun, "stdout">): AgentEvent[] {
  return stdout
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as AgentEvent);
}

/** The results of the calls of a run with `--json`, as the model gets them. */
export function resultsOf(run: Pick<HermesRun, "stdout">): string[] {
  return eventsOf(run).flatMap((event) => (event.type === "tool-end" ? [event.text] : []));
}
