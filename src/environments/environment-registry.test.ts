import { spawnSync } from "node:child_process";
import { realpath, writeFile } from "node:fs/promises";
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { tempFolder } from "../../test/support/temp-folder.ts";
import { TurnableClock } from "../../test/support/turnable-clock.ts";
import { AppError } from "../lib/errors.ts";
import { collect } from "./environment.contract.ts";
import type { CommandRequest, CommandResult, Environment } from "./environment.ts";
import { createEnvironmentRegistry, type EnvironmentRegistryParts } from "./environment-registry.ts";
import { type EnvironmentRequest, environmentTask } from "./environment-request.ts";
import { openEnvironment } from "./open-environment.ts";
import { terminalOptions } from "./options.ts";

const signal = AbortSignal.timeout(7_200_000); // for all of the file
const closedError = expect.objectContaining({ code: "environment-closed" });

function createGate() {
  let open = (): void => undefined;
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open: () => open() };
}

/** A place whose command `wait` ends when a test says so, or when it is told to stop. */
function fakeEnvironment(request: EnvironmentRequest) {
  const commands: CommandRequest[] = [];
  const end = createGate();
  const fake = {
    request,
    commands,
    endCommands: end.open,
    warm: async () => undefined,
    busy: 0,
    disposed: 0,
    dispose: async (): Promise<void> => undefined,
    openSession: () => ({ cwd: undefined, save: () => undefined }),
    async run(command: CommandRequest, stop: AbortSignal): Promise<CommandResult> {
      commands.push(command);
      fake.busy++;
      const stopped = new Promise<void>((resolve) => stop.addEventListener("abort", () => resolve()));
      if (command.command === "wait") await Promise.race([end.passed, stopped]);
      await turn();
      fake.busy--;
      const badWorkdir = command.workdir === "/missing";
      return {
        ended: stop.aborted ? "stopped" : "exited",
        exitCode: stop.aborted ? 130 : badWorkdir ? 126 : 0,
        badWorkdir,
        cwd: command.workdir,
        survivors: [],
        notices: [],
        durationMs: 0,
      };
    },
    async [Symbol.asyncDispose]() {
      fake.disposed++;
      await fake.dispose();
    },
  };
  return fake satisfies Environment;
}

interface Claim {
  readonly task?: string;
  readonly session?: string;
  readonly home?: string;
  readonly cwd?: string;
  readonly options?: object;
}

function requestOf({
  task = "main",
  session = "s1",
  home = "/home-a",
  cwd = "/start",
  options: given = {},
}: Claim): EnvironmentRequest {
  const options = terminalOptions.parse(given);
  return {
    options,
    profile: { name: "a", root: home, home },
    profileId: async () => "id",
    task: environmentTask(options.isolation, { session, task }),
    variables: {},
    variable: () => undefined,
    userHome: "/u",
    cwd,
    reporter: { onNotice: () => undefined, onProgress: () => undefined },
  };
}

function setUp(parts: Partial<EnvironmentRegistryParts> = {}) {
  const clock = new TurnableClock();
  const opened: ReturnType<typeof fakeEnvironment>[] = [];
  const errors: string[] = [];
  const registry = createEnvironmentRegistry({
    clock,
    async open(request) {
      await turn();
      const fake = fakeEnvironment(request);
      opened.push(fake);
      return fake;
    },
    lookAfter: async () => undefined,
    onError: (what, error) => void errors.push(`${what} ${error instanceof Error ? error.message : error}`),
    ...parts,
  });
  return {
    clock,
    opened,
    errors,
    registry,
    acquire: (claim: Claim = {}) => registry.acquire(requestOf(claim), new AbortController().signal),
    /** The place that was opened at that turn. */
    place(index: number) {
      const found = opened[index];
      if (found === undefined) throw new Error(`only ${opened.length} were opened`);
      return found;
    },
    names: () => opened.map(({ request }) => request.task),
    disposals: () => opened.map(({ disposed }) => disposed),
  };
}

const command = (environment: Environment, more: Partial<CommandRequest> = {}): CommandRequest => ({
  command: "true",
  session: environment.openSession(),
  timeoutMs: 1_000,
  onOutput: () => undefined,
  ...more,
});

test("D2: calls at the same moment build one environment and share it", async () => {
  const { acquire, names } = setUp();
  const askers = Array.from({ length: 16 }, (_, index) => ({ task: `t${index}`, session: `s${index}` }));
  await Promise.all(askers.map(acquire));
  expect(names()).toEqual(["default"]);
});

test("D2: isolation says who shares: all of a profile, a session with its subagents, or one task", async () => {
  for (const [isolation, expected] of [
    ["shared", ["default", "default"]],
    ["session", ["s1", "s2", "s1"]],
    ["task", ["main", "child", "other", "main"]],
  ] as const) {
    const { acquire, names } = setUp();
    const options = { isolation };
    await acquire({ task: "main", session: "s1", options });
    await acquire({ task: "child", session: "s1", options });
    await acquire({ task: "other", session: "s2", options });
    await acquire({ task: "main", session: "s1", home: "/home-b", options });
    expect(names()).toEqual(expected);
  }
});

test("F22, F23: an environment is opened with the settings and the folder of whoever asks, never of another", async () => {
  const { acquire, opened } = setUp();
  const old = await acquire({ cwd: "/one" });
  await acquire({ cwd: "/two" });
  await acquire({ cwd: "/one", options: { cwd: "/three" } });
  await acquire({ cwd: "/one", options: { docker_image: "other" } });
  await acquire({ cwd: "/one" });
  expect(opened.map(({ request: { cwd, options } }) => [cwd, options.cwd, options.docker_image])).toEqual([
    ["/one", "", expect.any(String)],
    ["/two", "", expect.any(String)],
    ["/one", "/three", expect.any(String)],
    ["/one", "", "other"],
  ]);
  expect(await old.run(command(old), signal)).toMatchObject({ exitCode: 0 });
});

test("A21: a failed opening is told to all who wait, and whoever tries again starts from scratch", async () => {
  let attempts = 0;
  const { acquire, registry, errors } = setUp({
    async open(request) {
      await turn();
      if (++attempts === 1) throw new AppError("sandbox-unavailable", "the engine is down");
      return fakeEnvironment(request);
    },
  });
  const retry = () => acquire().catch(() => acquire());
  const results = await Promise.allSettled([retry(), acquire(), acquire()]);
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
  expect(attempts).toBe(2);
  await registry[Symbol.asyncDispose]();
  expect(errors).toEqual([]);
});

test("who waits may give up; when all have, the opening is ended and what it still made is closed", async () => {
  const gate = createGate();
  const signals: AbortSignal[] = [];
  const made: ReturnType<typeof fakeEnvironment>[] = [];
  const { registry } = setUp({
    async open(request, stop) {
      signals.push(stop);
      const fake = fakeEnvironment(request);
      made.push(fake);
      await gate.passed;
      return fake;
    },
  });
  const [one, two] = [new AbortController(), new AbortController()];
  const first = registry.acquire(requestOf({}), one.signal);
  const second = registry.acquire(requestOf({}), two.signal);
  await turn();
  one.abort(new Error("enough"));
  await expect(first).rejects.toThrow("enough");
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  two.abort(new Error("me too"));
  await expect(second).rejects.toThrow("me too");
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  const third = registry.acquire(requestOf({}), signal);
  gate.open();
  await third;
  await expect.poll(() => made.map(({ disposed }) => disposed)).toEqual([1, 0]);
});

test("C47: an environment unused for its lifetime is closed, and comes back with the same request (F24)", async () => {
  const { clock, acquire, opened, disposals } = setUp();
  const claim = { options: { lifetime_seconds: 300 } };
  const handle = await acquire(claim);
  await handle[Symbol.asyncDispose]();
  await clock.advance(299_000);
  await (await acquire(claim))[Symbol.asyncDispose]();
  expect(opened).toHaveLength(1);
  await clock.advance(299_000);
  expect(disposals()).toEqual([0]);
  await clock.advance(61_000);
  expect(disposals()).toEqual([1]);
  expect(clock.sleeping).toBe(0); // nothing is left to look after
  await acquire(claim);
  expect(opened).toHaveLength(2);
  const [before, after] = opened.map(({ request: { options, task, profile, cwd } }) => {
    return { options, task, profile, cwd };
  });
  expect(after).toEqual(before);
});

test("a handle given back twice counts once", async () => {
  const { clock, acquire, disposals } = setUp();
  const claim = { options: { lifetime_seconds: 1 } };
  const [one] = [await acquire(claim), await acquire(claim)];
  await one[Symbol.asyncDispose]();
  await one[Symbol.asyncDispose]();
  await clock.advance(60_000);
  expect(disposals()).toEqual([0]);
});

test("F53: a held environment stays through any model call", async () => {
  const { clock, acquire, disposals } = setUp();
  const handle = await acquire({ options: { lifetime_seconds: 1 } });
  await clock.advance(600_000);
  expect(disposals()).toEqual([0]);
  expect(await handle.run(command(handle), signal)).toMatchObject({ exitCode: 0 });
});

test("an environment in which something runs is not idle, and its time begins when that has ended", async () => {
  const { clock, acquire, place } = setUp();
  const handle = await acquire({ options: { lifetime_seconds: 300 } });
  place(0).busy = 1;
  await handle[Symbol.asyncDispose]();
  await clock.advance(600_000);
  expect(place(0).disposed).toBe(0);
  place(0).busy = 0;
  await clock.advance(240_000);
  expect(place(0).disposed).toBe(0);
  await clock.advance(120_000);
  expect(place(0).disposed).toBe(1);
});

test("lifetime 0 closes with the last handle, but not under a command that still runs", async () => {
  const { acquire, place } = setUp();
  const options = { lifetime_seconds: 0 };
  const [one, two] = [await acquire({ options }), await acquire({ options })];
  const running = two.run(command(two, { command: "wait" }), signal);
  await one[Symbol.asyncDispose]();
  await two[Symbol.asyncDispose]();
  await turn();
  expect(place(0).disposed).toBe(0);
  place(0).endCommands();
  expect(await running).toMatchObject({ ended: "exited" });
  await turn();
  expect(place(0).disposed).toBe(1);
});

test("F53: a handle that was given back refuses, and so does everything of a closed registry", async () => {
  const { acquire, registry, place } = setUp();
  const [given, held] = [await acquire(), await acquire()];
  const request = command(given);
  await given[Symbol.asyncDispose]();
  await expect(given.run(request, signal)).rejects.toEqual(closedError);
  expect(() => given.openSession()).toThrow("The environment is closed.");
  await registry[Symbol.asyncDispose]();
  await expect(held.run(request, signal)).rejects.toEqual(closedError);
  await expect(acquire()).rejects.toEqual(closedError);
  expect(place(0).commands).toEqual([]);
});

test("a command is stopped by its own signal, before and while it runs", async () => {
  const { acquire, place } = setUp();
  const handle = await acquire();
  await expect(handle.run(command(handle), AbortSignal.abort(new Error("no")))).rejects.toThrow("no");
  expect(place(0).commands).toEqual([]);
  const controller = new AbortController();
  const running = handle.run(command(handle, { command: "wait" }), controller.signal);
  controller.abort(new Error("enough"));
  expect(await running).toMatchObject({ ended: "stopped" });
});

test("C29: closing stops what runs, then closes each environment once, and never throws", async () => {
  const { acquire, registry, place, disposals, errors, clock } = setUp();
  const first = await acquire();
  const others = [await acquire({ home: "/home-b" }), await acquire({ home: "/home-c" })];
  let runningAtEnd: number | undefined;
  place(0).dispose = async () => {
    runningAtEnd = place(0).busy;
  };
  place(1).dispose = () => Promise.reject(new Error("the engine is down"));
  const running = first.run(command(first, { command: "wait" }), signal);
  await Promise.all([registry[Symbol.asyncDispose](), registry[Symbol.asyncDispose]()]);
  expect(await running).toMatchObject({ ended: "stopped", exitCode: 130 });
  expect(runningAtEnd).toBe(0);
  expect(errors).toEqual(["The environment default could not be closed. the engine is down"]);
  for (const handle of [first, ...others]) await handle[Symbol.asyncDispose]();
  expect(disposals()).toEqual([1, 1, 1]);
  expect(clock.sleeping).toBe(0);
});

test("F7: closing waits for what the reaper began to close", async () => {
  const { clock, acquire, registry, place } = setUp();
  const handle = await acquire({ options: { lifetime_seconds: 1 } });
  const gate = createGate();
  let torn = false;
  place(0).dispose = async () => {
    await gate.passed;
    torn = true;
  };
  await handle[Symbol.asyncDispose]();
  await clock.advance(3_000);
  expect(place(0).disposed).toBe(1);
  const closing = registry[Symbol.asyncDispose]().then(() => torn);
  await turn();
  gate.open();
  expect(await closing).toBe(true);
});

test("C29: one that hangs does not hold up the end for ever, and is named", async () => {
  const { acquire, registry, place, errors } = setUp({ teardownMs: 20 });
  await acquire();
  place(0).dispose = () => new Promise(() => undefined);
  await registry[Symbol.asyncDispose]();
  expect(errors).toEqual(["The environment default is left behind. it was not closed within 0.02 s"]);
});

test("who still waits for an opening when the registry closes is told so, even if the opening hangs", async () => {
  const { acquire, registry } = setUp({ open: () => new Promise(() => undefined), teardownMs: 20 });
  const refused = expect(acquire()).rejects.toEqual(closedError);
  await turn();
  await registry[Symbol.asyncDispose]();
  await refused;
});

test("C33, C46: what was abandoned is looked for once per profile and backend, after the first command", async () => {
  const looked: string[] = [];
  const { acquire } = setUp({
    lookAfter: async ({ options, profile }) => void looked.push(`${options.backend} ${profile.home}`),
  });
  const options = { backend: "docker", isolation: "task" };
  const all = await Promise.all(["a", "b", "c"].map((task) => acquire({ task, options })));
  expect(looked).toEqual([]); // whoever runs nothing looks for nothing
  for (const handle of all) await handle.run(command(handle), signal);
  expect(looked).toEqual(["docker /home-a"]);
  const others = [await acquire({}), await acquire({ home: "/home-b", options })];
  for (const handle of others) await handle.run(command(handle), signal);
  expect(looked).toEqual(["docker /home-a", "local /home-a", "docker /home-b"]);
});

test("C44: a failed look at what was abandoned costs nobody a command, and the end waits for one on its way", async () => {
  const gate = createGate();
  const { acquire, errors, registry } = setUp({
    lookAfter: () => gate.passed.then(() => Promise.reject(new Error("no permission"))),
  });
  const handle = await acquire();
  expect(await handle.run(command(handle), signal)).toMatchObject({ exitCode: 0 });
  const closing = registry[Symbol.asyncDispose]();
  await turn();
  gate.open();
  await closing;
  expect(errors).toEqual(["Abandoned sandboxes were not looked for. no permission"]);
});

test("an unused environment does not keep the process alive", async () => {
  await using folder = await tempFolder();
  const script = folder.file("idle.mts");
  const registryUrl = new URL("./environment-registry.ts", import.meta.url).href;
  await writeFile(
    script,
    `import { createEnvironmentRegistry } from ${JSON.stringify(registryUrl)};
     const place = { openSession: () => ({ cwd: undefined }), busy: 0, async [Symbol.asyncDispose]() {} };
     const registry = createEnvironmentRegistry({ open: async () => place, lookAfter: async () => {}, onError() {} });
     const request = { task: "t", profile: { home: "/h" }, options: { lifetime_seconds: 300 } };
     await registry.acquire(request, new AbortController().signal);
     process.stdout.write("held");`,
  );
  const child = spawnSync(process.execPath, ["--import", "tsx", script], {
    encoding: "utf8",
    timeout: 150_000,
  });
  expect(child).toMatchObject({ stdout: "held", stderr: "", status: 0 });
});

test("real environments serve two folders, and what runs ends with the registry", async () => {
  await using folder = await tempFolder();
  const path = await realpath(folder.path);
  const errors: unknown[] = [];
  await using registry = createEnvironmentRegistry({
    open: openEnvironment,
    lookAfter: async () => undefined,
    onError: (_, error) => void errors.push(error),
  });
  const options = { auto_source_bashrc: false, shell_init_files: ["/dev/null"] };
  const request = (cwd: string): EnvironmentRequest => ({
    ...requestOf({ home: path, cwd, options }),
    variables: { PATH: process.env["PATH"], HOME: path },
  });
  const main = await registry.acquire(request(path), signal);
  const child = await registry.acquire(request("/"), signal);
  const session = child.openSession();
  expect((await collect(main, "pwd")).stdout).toBe(`${path}\n`);
  expect((await collect(child, "pwd; cd /usr", { session })).stdout).toBe("/\n");
  expect((await collect(child, "pwd", { session })).stdout).toBe("/usr\n");
  const running = collect(main, "touch started; sleep 600");
  await expect.poll(async () => (await collect(child, `ls ${path}`)).stdout).toContain("started");
  const late = command(child, { session });
  await registry[Symbol.asyncDispose]();
  expect(await running).toMatchObject({ ended: "stopped", exitCode: 130, survivors: [] });
  await expect(child.run(late, signal)).rejects.toEqual(closedError);
  expect(errors).toEqual([]);
});
