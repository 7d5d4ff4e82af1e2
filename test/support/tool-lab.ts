import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { createResultFitter } from "../../src/agent/fit-result.ts";
import { openDockerEnvironment } from "../../src/environments/docker/docker-environment.ts";
import type { CommandRequest, CommandResult, Environment } from "../../src/environments/environment.ts";
import { createEnvironmentFiles } from "../../src/environments/files/environment-files.ts";
import { createJobs } from "../../src/environments/jobs/create-jobs.ts";
import { createJobStore, jobMigration } from "../../src/environments/jobs/job-store.ts";
import { openLocalEnvironment } from "../../src/environments/local/local-environment.ts";
import { terminalOptions } from "../../src/environments/options.ts";
import { createOutputWindow } from "../../src/environments/output-window.ts";
import { createSpillFile } from "../../src/environments/spill-file.ts";
import { createRedactor } from "../../src/lib/redact/redactor.ts";
import { openDatabase } from "../../src/lib/sqlite/database.ts";
import { systemClock } from "../../src/lib/time/clock.ts";
import { createFileGuards } from "../../src/policy/guarded-files.ts";
import { createMovedCommands } from "../../src/tools/terminal/moved-commands.ts";
import { NO_TODOS, type TodoState } from "../../src/tools/todo.ts";
import type { Tool, ToolResult } from "../../src/tools/tool.ts";
import type { ToolParts } from "../../src/tools/tool-parts.ts";
import { createTools, TOOLSETS } from "../../src/tools/tool-table.ts";
import { openDockerLab } from "./docker.ts";
import type { RunningPart } from "./services.ts";
import { tempFolder } from "./temp-folder.ts";

/** A value that the redactor of every lab knows. */
export const SECRET = "kQ7-correct-horse-Zx9";

/** An environment for tools, and a folder in it that tests may fill. */
export interface TestEnvironment extends AsyncDisposable {
  readonly environment: Environment;
  readonly folder: string;
}

export interface ToolLabOptions
  extends Partial<
    Pick<ToolParts, "findAnswer" | "fileSending" | "vision" | "canNotify" | "pastSessions" | "hasSandbox">
  > {
  /** Home of the profile. */
  readonly home?: string;
  readonly writeRoots?: readonly string[];
  readonly todos?: TodoState;
  readonly limits?: ToolParts["limits"];
  readonly owner?: string;
  /** Wraps every command of the environment. */
  intercept?(
    request: CommandRequest,
    run: (request: CommandRequest) => Promise<CommandResult>,
  ): Promise<CommandResult>;
  /** A command that runs in the folder first. */
  readonly setUp?: string;
  /** Receives a sentence when a command that was moved to the background has ended. */
  readonly onMovedEnded?: (sentence: string) => void;
  /** The job records of another lab, to share them. */
  readonly jobsPath?: string;
}

export interface CalledResult extends ToolResult {
  json(): Record<string, unknown>;
}

/** The tools of one session in its own folder. */
export interface ToolLab extends AsyncDisposable {
  readonly folder: string;
  readonly tools: ReadonlyMap<string, Tool>;
  readonly jobsPath: string;
  /** Home of the profile, on this machine. */
  readonly home: string;
  /** Calls a tool and returns the result as the model gets it. */
  call(tool: string, input: object | string, signal?: AbortSignal): Promise<CalledResult>;
  fit(text: string, tool: string): Promise<string>;
  /** The output of a command in the folder; throws if it fails. */
  sh(command: string): Promise<string>;
}

/** A result as an object: from JSON, or from the header and output of a command. */
function readResult(text: string): Record<string, unknown> {
  if (text.startsWith("{")) return JSON.parse(text) as Record<string, unknown>;
  const [header = "", ...output] = text.split("\n\n");
  const facts = header.split("\n").map((line) => /^(\w+): (.*)$/.exec(line)?.slice(1) ?? [line, ""]);
  const { exit_code: code, ...rest } = Object.fromEntries(facts) as Record<string, string>;
  return { error: null, ...rest, exit_code: Number(code), output: output.join("\n\n") };
}

/** This machine, in a temporary folder. In a sandbox, only the folder `project` in it can be written. */
export async function openLocalTestEnvironment(
  local_sandbox: "off" | "workspace" = "off",
): Promise<TestEnvironment> {
  const temp = await tempFolder();
  const folder = local_sandbox === "off" ? temp.path : temp.file("project");
  await mkdir(folder, { recursive: true });
  const environment = await openLocalEnvironment({
    options: terminalOptions.parse({ shell_init_files: ["/dev/null"], local_sandbox }),
    variables: { PATH: process.env["PATH"], HOME: temp.path, TMPDIR: temp.path },
    profileHome: local_sandbox === "off" ? temp.path : temp.file(".hermes"),
    cwd: folder,
  });
  return {
    environment,
    folder,
    async [Symbol.asyncDispose]() {
      await environment[Symbol.asyncDispose]();
      await temp[Symbol.asyncDispose]();
    },
  };
}

/** A new sandbox that contains only busybox. */
export async function openSandboxTestEnvironment(service: RunningPart<"docker">): Promise<TestEnvironment> {
  const docker = await openDockerLab(service);
  const environment = await openDockerEnvironment({
    engine: docker.engine,
    spec: await docker.spec(),
    reporter: docker.reporter,
  });
  return {
    environment,
    folder: "/workspace",
    async [Symbol.asyncDispose]() {
      await environment[Symbol.asyncDispose]();
      await docker[Symbol.asyncDispose]();
    },
  };
}

export async function openToolLab(
  testEnvironment: TestEnvironment,
  options: ToolLabOptions = {},
): Promise<ToolLab> {
  const temp = await tempFolder();
  const { intercept = (request, run) => run(request) } = options;
  const folder = `${testEnvironment.folder}/lab-${randomBytes(6).toString("hex")}`;
  const environment: Environment = {
    openSession: () => testEnvironment.environment.openSession(),
    outside: testEnvironment.environment.outside,
    explainRefusal: testEnvironment.environment.explainRefusal,
    run: (request, signal) =>
      intercept(request, (changed) => testEnvironment.environment.run(changed, signal)),
    warm: async () => undefined,
    runningCommands: 0,
    [Symbol.asyncDispose]: async () => undefined,
  };
  const redactor = createRedactor({ secrets: [SECRET] });
  const session = environment.openSession();
  const run = async (command: string, workdir = folder): Promise<string> => {
    const chunks: Buffer[] = [];
    const request = {
      command,
      session: testEnvironment.environment.openSession(),
      workdir,
      timeoutMs: 120_000,
      mergeStderr: true,
      onOutput: (_: unknown, bytes: Uint8Array) => void chunks.push(Buffer.from(bytes)),
    };
    const { exitCode } = await testEnvironment.environment.run(request, AbortSignal.timeout(300_000));
    const text = Buffer.concat(chunks).toString("utf8");
    if (exitCode !== 0) throw new Error(`${command}: ${text}`);
    return text;
  };
  await run(`mkdir '${folder}'`, testEnvironment.folder);
  // The folder in which a user's session would start.
  const nothing = () => undefined;
  await testEnvironment.environment.run(
    { command: `cd '${folder}'`, session, timeoutMs: 120_000, onOutput: nothing },
    AbortSignal.timeout(300_000),
  );
  const jobsPath = options.jobsPath ?? temp.file("jobs.sqlite");
  const database = await openDatabase(
    jobsPath,
    { migrations: [jobMigration], synchronous: "NORMAL", clock: systemClock },
    AbortSignal.timeout(300_000),
  );
  const jobs = createJobs({
    environment,
    store: createJobStore(database, "environment"),
    clock: systemClock,
    redact: (text) => redactor.redact(text),
    graceMs: 300,
  });
  const owner = options.owner ?? "session-1";
  const home = options.home ?? temp.file("home");
  const parts: ToolParts = {
    openEnvironment: async () => ({
      environment,
      session,
      files: createEnvironmentFiles(environment, session),
      jobs: async () => jobs,
    }),
    owner,
    guards: createFileGuards({ homes: [home], writeRoots: options.writeRoots ?? [] }),
    limits: options.limits ?? { timeout: 180, maxForegroundTimeout: 600 },
    hasSandbox: options.hasSandbox ?? false,
    moved: createMovedCommands(options.onMovedEnded ?? (() => undefined)),
    canNotify: options.canNotify ?? false,
    findAnswer: options.findAnswer,
    fileSending: options.fileSending,
    vision: options.vision,
    pastSessions: options.pastSessions,
    redact: (text, how) => redactor.redact(text, how),
    createWindow: () =>
      createOutputWindow({
        maxBytes: 50_000,
        spill: createSpillFile({ home, maxBytes: 5_000_000, now: () => Date.now() }),
      }),
  };
  const tools = createTools(parts, {
    toolsets: new Set(TOOLSETS),
    todos: options.todos ?? NO_TODOS,
    added: [],
  });
  const lab: ToolLab = {
    folder,
    tools,
    jobsPath,
    home,
    fit: createResultFitter({ home, contextTokens: undefined, spillBytes: 5_000_000, now: () => Date.now() }),
    sh: (command) => run(command),
    async call(name, input, signal = AbortSignal.timeout(300_000)) {
      const tool = tools.get(name);
      if (tool === undefined) throw new Error(`the tool ${name} does not exist`);
      const text = typeof input === "string" ? input : JSON.stringify(input);
      const result = await tool.call(text, {
        callId: randomBytes(6).toString("hex"),
        signal,
        onProgress: nothing,
      });
      return { ...result, json: () => readResult(result.text) };
    },
    async [Symbol.asyncDispose]() {
      for (const job of await jobs.list(AbortSignal.timeout(300_000)))
        if (job.state !== "ended" && job.owner === owner)
          await jobs.kill(job.id, AbortSignal.timeout(300_000));
      const endedJobs = "select folder from job where folder is not null and state = 'ended'";
      for (const row of database.prepare<{ folder: string }>(endedJobs).all())
        await run(`rm -rf '${row.folder}'`, testEnvironment.folder);
      await run(`chmod -R u+rwx '${folder}'; rm -rf '${folder}'`, testEnvironment.folder);
      database[Symbol.dispose]();
      await temp[Symbol.asyncDispose]();
    },
  };
  try {
    if (options.setUp !== undefined) await run(options.setUp);
    return lab;
  } catch (error) {
    await lab[Symbol.asyncDispose]();
    throw error;
  }
}
