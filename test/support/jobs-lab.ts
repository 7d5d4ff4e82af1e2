import { quoteWord } from "../../src/environments/channel/quote.ts";
import { openDockerEnvironment } from "../../src/environments/docker/docker-environment.ts";
import { createEngine } from "../../src/environments/docker/engine/engine.ts";
import type { SandboxSpec } from "../../src/environments/docker/spec/sandbox-spec.ts";
import type { CommandRequest, CommandResult, Environment } from "../../src/environments/environment.ts";
import { createJobs } from "../../src/environments/jobs/create-jobs.ts";
import { createJobStore, jobMigration } from "../../src/environments/jobs/job-store.ts";
import type { Jobs } from "../../src/environments/jobs/jobs.ts";
import { openLocalEnvironment } from "../../src/environments/local/local-environment.ts";
import { terminalOptions } from "../../src/environments/options.ts";
import { openSshEnvironment } from "../../src/environments/ssh/ssh-environment.ts";
import { type Database, openDatabase } from "../../src/lib/sqlite/database.ts";
import { systemClock } from "../../src/lib/time/clock.ts";

/** An environment that tests open, as a value that can be passed to another process. */
export type JobsTarget =
  | { readonly kind: "local"; readonly folder: string; readonly sandbox?: "workspace" }
  | {
      readonly kind: "docker";
      readonly client: string;
      readonly variables: Readonly<Record<string, string>>;
      readonly spec: Omit<SandboxSpec, "forwardedVariables">;
    }
  | {
      readonly kind: "ssh";
      readonly options: object;
      readonly knownHosts: string;
      readonly profileId: string;
    };

export function openJobsTarget(target: JobsTarget): Environment | Promise<Environment> {
  const { PATH } = process.env;
  if (target.kind === "local") {
    return openLocalEnvironment({
      options: terminalOptions.parse({
        shell_init_files: ["/dev/null"],
        local_sandbox: target.sandbox ?? "off",
        local_sandbox_writable: [target.folder],
      }),
      variables: { PATH, HOME: target.folder, TMPDIR: target.folder },
      profileHome: target.folder,
      cwd: target.folder,
    });
  }
  if (target.kind === "docker") {
    const { client, variables, spec } = target;
    const reporter = { onNotice: () => undefined, onProgress: () => undefined };
    const engine = createEngine(client, { ...process.env, ...variables });
    const fullSpec = { ...spec, forwardedVariables: new Map<string, string>() }; // JSON has no Map
    return openDockerEnvironment({ engine, spec: fullSpec, reporter });
  }
  return openSshEnvironment({
    options: terminalOptions.parse(target.options),
    variables: { PATH },
    profileId: target.profileId,
    extraArguments: ["-F", "none", "-o", `UserKnownHostsFile=${target.knownHosts}`],
  });
}

/** Opens an environment and its jobs, with their records in `path`; `intercept` wraps every command. */
export async function openJobs(target: JobsTarget, path: string, intercept?: Intercept): Promise<JobsLab> {
  return openJobsIn(await openJobsTarget(target), path, intercept);
}

type Intercept = (request: CommandRequest, run: () => Promise<CommandResult>) => Promise<CommandResult>;

export interface JobsLab extends AsyncDisposable {
  readonly jobs: Jobs;
  readonly environment: Environment;
  readonly database: Database;
}

/** Opens the jobs of an open environment, which is closed with them. */
export async function openJobsIn(
  environment: Environment,
  path: string,
  intercept: Intercept = (_, run) => run(),
): Promise<JobsLab> {
  const signal = AbortSignal.timeout(300_000);
  const options = { migrations: [jobMigration], synchronous: "NORMAL", clock: systemClock } as const;
  const database = await openDatabase(path, options, signal);
  const intercepted: Environment = {
    openSession: () => environment.openSession(),
    outside: environment.outside,
    run: (request, runSignal) => intercept(request, () => environment.run(request, runSignal)),
    warm: async () => undefined,
    runningCommands: 0,
    [Symbol.asyncDispose]: async () => undefined,
  };
  const jobs = createJobs({
    environment: intercepted,
    store: createJobStore(database, "local"),
    clock: systemClock,
    redact: (text) => text.replaceAll("hunter2hunter2", "***"),
    graceMs: 300,
  });
  return {
    jobs,
    environment,
    database,
    async [Symbol.asyncDispose]() {
      const endedJobs = "select folder from job where folder is not null and state = 'ended'";
      const folders = database.prepare<{ folder: string }>(endedJobs).all();
      const command = ["rm -rf", ...folders.map(({ folder }) => quoteWord(folder))].join(" ");
      const session = environment.openSession();
      const nothing = () => undefined;
      await environment.run(
        { command, session, timeoutMs: 120_000, onOutput: nothing },
        AbortSignal.timeout(300_000),
      );
      database[Symbol.dispose]();
      await environment[Symbol.asyncDispose]();
    },
  };
}
