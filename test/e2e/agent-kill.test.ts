import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { openSessionStore, type SessionStore } from "../../src/sessions/session-store.ts";
import { tempHome } from "../support/hermes.ts";
import { scale } from "../support/scale.ts";

const CALLS = 20;
const SIDE_BY_SIDE = 3;
const STARTS_WITHIN_MS = 400;
const STEP_MS = 15;

/** A turn of twenty calls; each leaves a line behind, so that a second run of one would show. */
const script = {
  turns: [
    {
      when: "do it all",
      answers: [
        ...Array.from({ length: CALLS }, (_, index) => ({
          tools: [{ name: "terminal", input: { command: `echo ${index + 1} >> done.txt` } }],
        })),
        { text: "all twenty" },
      ],
    },
    { when: "go on", answers: [{ text: "went on" }] },
  ],
};

test(`after a kill at any of ${scale.kills} moments the turn is finished, and nothing ran twice without being named`, async () => {
  const outcomes = { finished: 0, resumed: 0, uncertain: 0 };
  const lines = (kill: number) => Math.floor(((kill + 0.5) * (CALLS + 1)) / scale.kills);
  const kills = Array.from({ length: scale.kills }, (_, kill) => lines(kill)).values();
  const worker = async (): Promise<void> => {
    for (const lines of kills) await killAfter(lines, outcomes);
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, worker));
  expect(outcomes.finished + outcomes.resumed).toBe(scale.kills);
  expect(outcomes.resumed).toBeGreaterThanOrEqual(scale.kills / 2); // else the moments missed the turn
}, 1_800_000);

type Home = Awaited<ReturnType<typeof tempHome>>;

const scriptPath = (home: Home): string => join(home.folder, "script.json");

/** Kills it somewhere after it has left so many lines behind. */
async function runTask(home: Home, lines: number) {
  await writeFile(scriptPath(home), JSON.stringify(script));
  const args = ["-z", "do it all", "-m", `scripted:${scriptPath(home)}`];
  const killWhen = async (signal: AbortSignal): Promise<void> => {
    while ((await linesOf(home)).length < lines) await sleep(1, undefined, { signal });
    await sleep(Math.random() * (lines === 0 ? STARTS_WITHIN_MS : STEP_MS), undefined, { signal });
  };
  const result = await home.hermes(args, { cwd: home.folder, killWhen });
  if (result.exitCode !== null) expect(result).toMatchObject({ exitCode: 0, stdout: "all twenty\n" });
  return result;
}

async function killAfter(
  lines: number,
  outcomes: { finished: number; resumed: number; uncertain: number },
): Promise<void> {
  await using home = await tempHome();
  const { exitCode } = await runTask(home, lines);
  const session = await latest(home);
  if (session === undefined) {
    outcomes.finished++; // it died before it had begun, and nothing was done
    expect(await linesOf(home)).toEqual([]);
    return;
  }
  const resumed = await home.hermes(["-c", "-z", "go on", "-m", `scripted:${scriptPath(home)}`], {
    cwd: home.folder,
  });
  expect(resumed).toMatchObject({ exitCode: 0, stdout: "went on\n" });

  const { messages, openTurn } = await withStore(home, (store) => store.loadSession(session.id));
  expect(openTurn).toBeUndefined();
  const results = messages.flatMap((message) => (message.role === "tool" ? [message] : []));
  const calls = messages.flatMap((message) =>
    message.role === "assistant"
      ? message.parts.flatMap((part) => (part.type === "tool-call" ? [part.callId] : []))
      : [],
  );
  expect(results.map(({ callId }) => callId)).toEqual(calls);
  expect(calls).toHaveLength(CALLS);
  const uncertain = new Set(
    results.filter(({ text }) => text.includes("outcome is unknown")).map(({ callId }) => callId),
  );
  const left = await linesOf(home);
  for (const [index, { callId }] of results.entries()) {
    const times = left.filter((line) => line === `${index + 1}`).length;
    if (uncertain.has(callId)) expect(times).toBeLessThanOrEqual(1);
    else expect(times).toBe(1);
  }
  if (uncertain.size > 0) expect(resumed.stderr).toContain("unknown");
  outcomes.uncertain += uncertain.size;
  if (exitCode === null) outcomes.resumed++;
  else outcomes.finished++;
}

async function withStore<Result>(home: Home, look: (store: SessionStore) => Result): Promise<Result> {
  using store = await openSessionStore(join(home.path, "sessions.sqlite"), {}, AbortSignal.timeout(300_000));
  return look(store);
}

/** The session of the killed process; undefined when it died before it had one. */
async function latest(home: Home) {
  await mkdir(home.path, { recursive: true });
  return withStore(home, (store) => store.list.list({ limit: 1 })[0]);
}

async function linesOf(home: Home): Promise<string[]> {
  const text = await readFile(join(home.folder, "done.txt"), "utf8").catch(() => "");
  return text.split("\n").filter((line) => line !== "");
}
