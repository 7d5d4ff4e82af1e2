import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import type { Message } from "../../src/providers/message.ts";
import { openSessionStore } from "../../src/sessions/session-store.ts";
import { tempHome } from "../support/hermes.ts";
import { scale } from "../support/scale.ts";
import { type ScriptedServer, startScriptedServer } from "../support/scripted-server.ts";

type Home = Awaited<ReturnType<typeof tempHome>>;

const SESSIONS = 2;
const LONGEST_STEP_MS = 250;

/** One turn that uses every tool that changes something. The trace of each call shows how often the call ran. */
function roundAnswers(name: string) {
  const terminal = (command: string, more: object = {}) => ({
    name: "terminal",
    input: { command, ...more },
  });
  return [
    {
      tools: [
        terminal(`echo ${name} >> terminal.txt`),
        { name: "write_file", input: { path: `new-${name}.txt`, content: name } },
        terminal(`mv new-${name}.txt kept-${name}.txt`), // reveals a second run of the previous call
        { name: "patch", input: { path: "patch.txt", old_string: "end", new_string: `${name}\nend` } },
        { name: "read_file", input: { path: "terminal.txt" } },
        { name: "todo", input: { merge: true, todos: [{ id: name, content: name, status: "completed" }] } },
      ],
    },
    {
      tools: [
        terminal(`timeout --foreground 60 head -n 1 >> process.txt; : ${name}`, {
          background: true,
          pty: true,
        }),
      ],
    },
    { tools: [{ name: "process", input: { action: "submit", session_id: "{job}", data: name } }] },
    { text: `${name} is done` },
  ];
}

test(`an agent that is killed ${scale.agentKills} times at random and gets new messages repeats no effect, loses no message and keeps a valid transcript`, async () => {
  const rounds = scale.agentKills / SESSIONS;
  await Promise.all(Array.from({ length: SESSIONS }, (_, session) => killRepeatedly(rounds, session * 3)));
}, 3_600_000);

async function killRepeatedly(rounds: number, firstStep: number): Promise<void> {
  await using home = await tempHome();
  await writeFile(join(home.folder, "patch.txt"), "end\n");
  const names = Array.from({ length: rounds }, (_, round) => `round-${round}.`);
  await using server = await startScriptedServer({
    turns: [
      { when: "begin", answers: [{ text: "ready" }] },
      { when: "last", answers: [{ text: "all is done" }] },
      ...names.map((name) => ({ when: name, answers: roundAnswers(name) })),
    ],
  });
  await talk(home, server, ["-z", "begin"]);
  const stored: string[] = [];
  for (const [round, name] of names.entries()) {
    const before = server.requests.length;
    // Kills before the first request, and then in each of the steps of a turn.
    const steps = (firstStep + round) % 5;
    const killWhen = async (signal: AbortSignal): Promise<void> => {
      while (server.requests.length < before + steps) await sleep(2, undefined, { signal });
      await sleep(Math.random() * LONGEST_STEP_MS * (steps === 0 ? 2 : 1), undefined, { signal });
    };
    const { stdout, stderr } = await talk(home, server, ["-c", "-z", name], killWhen);
    if (stdout.includes('"type":"turn-start"')) stored.push(name);
    const [first] = server.requests.slice(before);
    if (first !== undefined)
      expect(lastMessage(first), stderr).toMatchObject({ role: "user", content: name });
  }
  const { exitCode, stderr } = await talk(home, server, ["-c", "-z", "last"]);
  expect(exitCode, stderr).toBe(0);
  const messages = await transcript(home);
  expectValid(messages);
  const said = messages.flatMap(({ role, ...message }) =>
    role === "user" && "parts" in message && message.parts[0]?.type === "text" ? [message.parts[0].text] : [],
  );
  expect(new Set(said).size).toBe(said.length);
  for (const name of [...stored, "last"]) expect(said).toContain(name);
  expect(stored.length).toBeGreaterThan(rounds / 2); // otherwise most kills missed the turns
  await expectEffects(home, names, messages);
}

function talk(
  home: Home,
  server: ScriptedServer,
  args: readonly string[],
  killWhen?: (signal: AbortSignal) => Promise<void>,
) {
  const model = ["--model.base_url", `${server.url}/v1`, "-m", "custom:m"];
  return home.hermes([...model, "--json", ...args], { cwd: home.folder, killWhen });
}

const lastMessage = ({ body }: ScriptedServer["requests"][number]) => body.messages.at(-1);

async function transcript(home: Home): Promise<readonly Message[]> {
  using store = await openSessionStore(join(home.path, "sessions.sqlite"), {}, neverAborted);
  const [session] = store.list.list({ limit: 2 });
  const { messages, openTurn } = store.loadSession(session?.id ?? "");
  expect(openTurn).toBeUndefined();
  return messages;
}

/** Expects that each call has exactly one result, in order, and that no two user messages follow each other. */
function expectValid(messages: readonly Message[]): void {
  let open: string[] = [];
  let previous = "";
  for (const message of messages) {
    if (message.role === "tool") expect(message.callId).toBe(open.shift());
    else expect(open).toEqual([]);
    if (message.role === "user") expect(previous).not.toBe("user");
    if (message.role === "assistant")
      open = message.parts.flatMap((part) => (part.type === "tool-call" ? [part.callId] : []));
    previous = message.role;
  }
}

/** Expects that the effects of each call match its result: one, none, or at most one if the outcome is unknown. */
async function expectEffects(
  home: Home,
  names: readonly string[],
  messages: readonly Message[],
): Promise<void> {
  const text = (name: string) => readFile(join(home.folder, name), "utf8").catch(() => "");
  const traces = {
    terminal: (await text("terminal.txt")).split("\n"),
    patch: (await text("patch.txt")).split("\n"),
    process: (await text("process.txt")).split(/\r?\n/),
    files: await readdir(home.folder),
  };
  const count = (list: readonly string[], name: string) => list.filter((one) => one === name).length;
  for (const [at, message] of messages.entries()) {
    if (message.role !== "tool") continue;
    const said = messages.slice(0, at).findLast(({ role }) => role === "user");
    const name = names.find((one) => JSON.stringify(said).includes(one)) ?? "";
    const input = inputOf(messages, message.callId);
    const times =
      message.tool === "terminal" && input.includes("echo")
        ? count(traces.terminal, name)
        : message.tool === "patch"
          ? count(traces.patch, name)
          : message.tool === "process"
            ? count(traces.process, name)
            : message.tool === "write_file"
              ? count(traces.files, `new-${name}.txt`) + count(traces.files, `kept-${name}.txt`)
              : undefined;
    if (times === undefined) continue;
    const what = `${message.tool} ${input} of ${name}: ${message.text}`;
    if (message.text.includes("outcome is unknown")) expect(times, what).toBeLessThanOrEqual(1);
    else if (message.text.startsWith("Not run")) expect(times, what).toBe(0);
    else expect([times, message.failed], what).toEqual([1, false]);
  }
}

function inputOf(messages: readonly Message[], callId: string): string {
  const parts = messages.flatMap((message) => (message.role === "assistant" ? message.parts : []));
  const call = parts.find((part) => part.type === "tool-call" && part.callId === callId);
  return call?.type === "tool-call" ? call.input : "";
}

test("after a kill, -c --max-turns 1 -z STOP sends STOP to the model and runs none of the earlier calls", async () => {
  await using home = await tempHome();
  await mkdir(home.path);
  const terminal = (command: string) => ({ name: "terminal", input: { command } });
  await using server = await startScriptedServer({
    turns: [
      { when: "STOP", answers: [{ text: "I stopped." }] },
      {
        when: "old task",
        answers: [
          { tools: [terminal("touch started; sleep 60"), terminal("touch second")] },
          { tools: [terminal("touch third")] },
        ],
      },
    ],
  });
  const model = ["--model.base_url", `${server.url}/v1`, "-m", "custom:m"];
  const killWhen = async (signal: AbortSignal): Promise<void> => {
    while (!(await readdir(home.folder)).includes("started")) await sleep(5, undefined, { signal });
  };
  await home.hermes([...model, "-z", "old task"], { cwd: home.folder, killWhen });
  const stop = await home.hermes([...model, "-c", "--max-turns", "1", "-z", "STOP"], { cwd: home.folder });
  expect(stop).toMatchObject({ exitCode: 0, stdout: "I stopped.\n" });
  expect(stop.stderr).toMatch(
    /terminal touch started; sleep 60: interrupted[^\n]*\n[^\n]*terminal touch second: not run/,
  );
  expect(server.requests).toHaveLength(2);
  expect(server.requests[1]?.body.messages.slice(-3)).toMatchObject([
    {
      role: "tool",
      content: expect.stringContaining("outcome is unknown. None of its processes is running."),
    },
    { role: "tool", content: expect.stringContaining("Not run") },
    { role: "user", content: "STOP" },
  ]);
  expect(await readdir(home.folder)).not.toContain("second");
  const said = (await transcript(home)).filter(({ role }) => role === "user");
  expect(said).toMatchObject([{ parts: [{ text: "old task" }] }, { parts: [{ text: "STOP" }] }]);
});
