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

const signal = AbortSignal.timeout(7_200_000); // for the whole file
const closedError = expect.objectContaining({ code: "environment-closed" });

function createGate() {
  let open = (): void => undefined;
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open: () => open() };
}

/** An environment whose command `wait` ends on `endCommands` or on abort. */
function fakeEnvironment(request: EnvironmentRequest) {
  const commands: CommandRequest[] = [];
  const end = createGate();
  const fake = {
    request,
    commands,
    endCommands: end.open,
    warm: async () => undefined,
    runningCommands: 0,
    disposed: 0,
    dispose: async (): Promise<void> => undefined,
    openSession: () => ({ cwd: undefined, save: () => undefined }),
    async run(command: CommandRequest, stop: AbortSignal): Promise<CommandResult> {
      commands.push(command);
      fake.runningCommands++;
      const stopped = new Promise<void>((resolve) => stop.addEventListener("abort", () => resolve()));
      if (command.command === "wait") await Promise.race([end.passed, stopped]);
      await turn();
      fake.runningCommands--;
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

interface RequestOverrides {
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
}: RequestOverrides): EnvironmentRequest {
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
    reclaimAbandoned: async () => undefined,
    onError: (what, error) => void errors.push(`${what} ${error instanceof Error ? error.message : error}`),
    ...parts,
  });
  return {
    clock,
    opened,
    errors,
    registry,
    acquire: (overrides: RequestOverrides = {}) =>
      registry.acquire(requestOf(overrides), new AbortController().signal),
    /** The fake environment that was opened as number `index`. */
    fake(index: number) {
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

test("D2: concurrent callers open one environment and share it", async () => {
  const { acquire, names } = setUp();
  const callers = Array.from({ length: 16 }, (_, index) => ({ task: `t${index}`, session: `s${index}` }));
  await Promise.all(callers.map(acquire));
  expect(names()).toEqual(["default"]);
});

test("D2: isolation decides who shares: all of a profile, a session with its subagents, or one task", async () => {
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

test("F22, F23: an environment is opened with the settings and the folder of its own request", async () => {
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

test("A21: a failed open rejects all waiting callers, and a retry starts over", async () => {
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

test("a waiting caller may give up; when all callers have, opening is aborted and an environment that opens late is closed", async () => {
  const gate = createGate();
  const signals: AbortSignal[] = [];
  const created: ReturnType<typeof fakeEnvironment>[] = [];
  const { registry } = setUp({
    async open(request, stop) {
      signals.push(stop);
      const fake = fakeEnvironment(request);
      created.push(fake);
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
  await expect.poll(() => created.map(({ disposed }) => disposed)).toEqual([1, 0]);
});

test("C47: an environment unused for its lifetime is closed, and is reopened with the same request (F24)", async () => {
  const { clock, acquire, opened, disposals } = setUp();
  const overrides = { options: { lifetime_seconds: 300 } };
  const handle = await acquire(overrides);
  await handle[Symbol.asyncDispose]();
  await clock.advance(299_000);
  await (await acquire(overrides))[Symbol.asyncDispose]();
  expect(opened).toHaveLength(1);
  await clock.advance(299_000);
  expect(disposals()).toEqual([0]);
  await clock.advance(61_000);
  expect(disposals()).toEqual([1]);
  expect(clock.sleeping).toBe(0); // the reaper has stopped
  await acquire(overrides);
  expect(opened).toHaveLength(2);
  const [before, after] = opened.map(({ request: { options, task, profile, cwd } }) => {
    return { options, task, profile, cwd };
  });
  expect(after).toEqual(before);
});

test("a handle disposed twice counts once", async () => {
  const { clock, acquire, disposals } = setUp();
  const overrides = { options: { lifetime_seconds: 1 } };
  const [one] = [await acquire(overrides), await acquire(overrides)];
  await one[Symbol.asyncDispose]();
  await one[Symbol.asyncDispose]();
  await clock.advance(60_000);
  expect(disposals()).toEqual([0]);
});

test("F53: a held environment stays open however long a model call takes", async () => {
  const { clock, acquire, disposals } = setUp();
  const handle = await acquire({ options: { lifetime_seconds: 1 } });
  await clock.advance(600_000);
  expect(disposals()).toEqual([0]);
  expect(await handle.run(command(handle), signal)).toMatchObject({ exitCode: 0 });
});

test("an environment with a running command is not idle, and its lifetime starts when the command ends", async () => {
  const { clock, acquire, fake } = setUp();
  const handle = await acquire({ options: { lifetime_seconds: 300 } });
  fake(0).runningCommands = 1;
  await handle[Symbol.asyncDispose]();
  await clock.advance(600_000);
  expect(fake(0).disposed).toBe(0);
  fake(0).runningCommands = 0;
  await clock.advance(240_000);
  expect(fake(0).disposed).toBe(0);
  await clock.advance(120_000);
  expect(fake(0).disposed).toBe(1);
});

test("lifetime 0 closes with the last handle, but not while a command still runs", async () => {
  const { acquire, fake } = setUp();
  const options = { lifetime_seconds: 0 };
  const [one, two] = [await acquire({ options }), await acquire({ options })];
  const running = two.run(command(two, { command: "wait" }), signal);
  await one[Symbol.asyncDispose]();
  await two[Symbol.asyncDispose]();
  await turn();
  expect(fake(0).disposed).toBe(0);
  fake(0).endCommands();
  expect(await running).toMatchObject({ ended: "exited" });
  await turn();
  expect(fake(0).disposed).toBe(1);
});

test("F53: a disposed handle refuses every use, and so does a closed registry", async () => {
  const { acquire, registry, fake } = setUp();
  const [given, held] = [await acquire(), await acquire()];
  const request = command(given);
  await given[Symbol.asyncDispose]();
  await expect(given.run(request, signal)).rejects.toEqual(closedError);
  expect(() => given.openSession()).toThrow("The environment is closed.");
  await registry[Symbol.asyncDispose]();
  await expect(held.run(request, signal)).rejects.toEqual(closedError);
  await expect(acquire()).rejects.toEqual(closedError);
  expect(fake(0).commands).toEqual([]);
});

test("a command is stopped by its own signal, before and while it runs", async () => {
  const { acquire, fake } = setUp();
  const handle = await acquire();
  await expect(handle.run(command(handle), AbortSignal.abort(new Error("no")))).rejects.toThrow("no");
  expect(fake(0).commands).toEqual([]);
  const controller = new AbortController();
  const running = handle.run(command(handle, { command: "wait" }), controller.signal);
  controller.abort(new Error("enough"));
  expect(await running).toMatchObject({ ended: "stopped" });
});

test("C29: closing stops running commands, then closes each environment once, and never throws", async () => {
  const { acquire, registry, fake, disposals, errors, clock } = setUp();
  const first = await acquire();
  const others = [await acquire({ home: "/home-b" }), await acquire({ home: "/home-c" })];
  let runningAtEnd: number | undefined;
  fake(0).dispose = async () => {
    runningAtEnd = fake(0).runningCommands;
  };
  fake(1).dispose = () => Promise.reject(new Error("the engine is down"));
  const running = first.run(command(first, { command: "wait" }), signal);
  await Promise.all([registry[Symbol.asyncDispose](), registry[Symbol.asyncDispose]()]);
  expect(await running).toMatchObject({ ended: "stopped", exitCode: 130 });
  expect(runningAtEnd).toBe(0);
  expect(errors).toEqual(["The environment default could not be closed. the engine is down"]);
  for (const handle of [first, ...others]) await handle[Symbol.asyncDispose]();
  expect(disposals()).toEqual([1, 1, 1]);
  expect(clock.sleeping).toBe(0);
});

test("F7: closing waits for the teardowns that the reaper started", async () => {
  const { clock, acquire, registry, fake } = setUp();
  const handle = await acquire({ options: { lifetime_seconds: 1 } });
  const gate = createGate();
  let isTornDown = false;
  fake(0).dispose = async () => {
    await gate.passed;
    isTornDown = true;
  };
  await handle[Symbol.asyncDispose]();
  await clock.advance(3_000);
  expect(fake(0).disposed).toBe(1);
  const closing = registry[Symbol.asyncDispose]().then(() => isTornDown);
  await turn();
  gate.open();
  expect(await closing).toBe(true);
});

test("C29: an environment that hangs does not block closing forever and is reported", async () => {
  const { acquire, registry, fake, errors } = setUp({ teardownMs: 20 });
  await acquire();
  fake(0).dispose = () => new Promise(() => undefined);
  await registry[Symbol.asyncDispose]();
  expect(errors).toEqual(["The environment default could not be closed. it did not close within 0.02 s"]);
});

test("a caller that waits for an environment is rejected when the registry closes, even if opening hangs", async () => {
  const { acquire, registry } = setUp({ open: () => new Promise(() => undefined), teardownMs: 20 });
  const refused = expect(acquire()).rejects.toEqual(closedError);
  await turn();
  await registry[Symbol.asyncDispose]();
  await refused;
});

test("C33, C46: abandoned sandboxes are reclaimed once per profile and backend, after the first command", async () => {
  const reclaimed: string[] = [];
  const { acquire } = setUp({
    reclaimAbandoned: async ({ options, profile }) =>
      void reclaimed.push(`${options.backend} ${profile.home}`),
  });
  const options = { backend: "docker", isolation: "task" };
  const all = await Promise.all(["a", "b", "c"].map((task) => acquire({ task, options })));
  expect(reclaimed).toEqual([]); // no command, no reclaim
  for (const handle of all) await handle.run(command(handle), signal);
  expect(reclaimed).toEqual(["docker /home-a"]);
  const others = [await acquire({}), await acquire({ home: "/home-b", options })];
  for (const handle of others) await handle.run(command(handle), signal);
  expect(reclaimed).toEqual(["docker /home-a", "local /home-a", "docker /home-b"]);
});

test("C44: a failed reclaim does not affect commands, and closing waits for a reclaim in progress", async () => {
  const gate = createGate();
  const { acquire, errors, registry } = setUp({
    reclaimAbandoned: () => gate.passed.then(() => Promise.reject(new Error("no permission"))),
  });
  const handle = await acquire();
  expect(await handle.run(command(handle), signal)).toMatchObject({ exitCode: 0 });
  const closing = registry[Symbol.asyncDispose]();
  await turn();
  gate.open();
  await closing;
  expect(errors).toEqual(["Abandoned sandboxes could not be reclaimed. no permission"]);
});

test("an unused environment does not keep the process alive", async () => {
  await using folder = await tempFolder();
  const script = folder.file("idle.mts");
  const registryUrl = new URL("./environment-registry.ts", import.meta.url).href;
  await writeFile(
    script,
    `import { createEnvironmentRegistry } from ${JSON.stringify(registryUrl)};
     const environment = { openSession: () => ({ cwd: undefined }), runningCommands: 0, async [Symbol.asyncDispose]() {} };
     const registry = createEnvironmentRegistry({ open: async () => environment, reclaimAbandoned: async () => {}, onError() {} });
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

test("real environments serve two folders, and their commands end with the registry", async () => {
  await using folder = await tempFolder();
  const path = await realpath(folder.path);
  const errors: unknown[] = [];
  await using registry = createEnvironmentRegistry({
    open: openEnvironment,
    reclaimAbandoned: async () => undefined,
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
