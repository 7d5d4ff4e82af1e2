import { systemClock } from "../../lib/clock.ts";
import { type Database, openDatabase } from "../../lib/database.ts";
import { quoteWord } from "../channel/quote.ts";
import { openDockerEnvironment } from "../docker/docker-environment.ts";
import { createEngine } from "../docker/engine.ts";
import type { SandboxSpec } from "../docker/sandbox-spec.ts";
import type { CommandRequest, CommandResult, Environment } from "../environment.ts";
import { openLocalEnvironment } from "../local/local-environment.ts";
import { terminalOptions } from "../options.ts";
import { openSshEnvironment } from "../ssh/ssh-environment.ts";
import { createJobs } from "./create-jobs.ts";
import { createJobStore, jobMigration } from "./job-store.ts";
import type { Jobs } from "./jobs.ts";

/** How to open an environment of the tests, as a value that another process can be given. */
export type PlaceOfJobs =
  | { readonly kind: "local"; readonly folder: string }
  | {
      readonly kind: "docker";
      readonly client: string;
      readonly variables: Readonly<Record<string, string>>;
      readonly spec: Omit<SandboxSpec, "forwardedVariables">;
      readonly sandboxesFolder: string;
    }
  | {
      readonly kind: "ssh";
      readonly options: object;
      readonly knownHosts: string;
      readonly profileId: string;
    };

export function openPlace(place: PlaceOfJobs): Environment | Promise<Environment> {
  const { PATH } = process.env;
  if (place.kind === "local") {
    return openLocalEnvironment({
      options: terminalOptions.parse({ shell_init_files: ["/dev/null"] }),
      variables: { PATH, HOME: place.folder, TMPDIR: place.folder },
      profileHome: place.folder,
      cwd: place.folder,
    });
  }
  if (place.kind === "docker") {
    const { client, variables, spec, sandboxesFolder } = place;
    const reporter = { onNotice: () => undefined, onProgress: () => undefined };
    const engine = createEngine(client, { ...process.env, ...variables });
    const whole = { ...spec, forwardedVariables: new Map<string, string>() }; // JSON knows no Map
    return openDockerEnvironment({ engine, spec: whole, sandboxesFolder, reporter });
  }
  return openSshEnvironment({
    options: terminalOptions.parse(place.options),
    variables: { PATH },
    profileId: place.profileId,
    extraArguments: ["-F", "none", "-o", `UserKnownHostsFile=${place.knownHosts}`],
  });
}

/** The jobs of a place with their records in `path`, as any process would see them; `intercept` stands before the environment. */
export async function openJobs(
  place: PlaceOfJobs,
  path: string,
  intercept: (request: CommandRequest, run: () => Promise<CommandResult>) => Promise<CommandResult> = (
    _,
    run,
  ) => run(),
): Promise<AsyncDisposable & { jobs: Jobs; environment: Environment; database: Database }> {
  const environment = await openPlace(place);
  const signal = AbortSignal.timeout(300_000);
  const options = { migrations: [jobMigration], synchronous: "NORMAL", clock: systemClock } as const;
  const database = await openDatabase(path, options, signal);
  const between: Environment = {
    openSession: () => environment.openSession(),
    run: (request, runSignal) => intercept(request, () => environment.run(request, runSignal)),
    warm: async () => undefined,
    busy: 0,
    [Symbol.asyncDispose]: async () => undefined,
  };
  const jobs = createJobs({
    environment: between,
    store: createJobStore(database, "place"),
    clock: systemClock,
    redact: (text) => text.replaceAll("hunter2hunter2", "***"),
    graceMs: 300,
  });
  return {
    jobs,
    environment,
    database,
    async [Symbol.asyncDispose]() {
      const over = "select folder from job where folder is not null and state = 'ended'";
      const folders = database.prepare<{ folder: string }>(over).all();
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
