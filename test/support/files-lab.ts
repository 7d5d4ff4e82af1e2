import { randomBytes } from "node:crypto";
import { collect } from "../../src/environments/environment.contract.ts";
import type { CommandRequest, Environment } from "../../src/environments/environment.ts";
import {
  createEnvironmentFiles,
  type EnvironmentFiles,
} from "../../src/environments/files/environment-files.ts";
import type { SearchPrograms } from "../../src/environments/files/search/search-script.ts";

/** The properties in which kinds of environments may differ for files. */
export interface FilesTraits {
  readonly name: string;
  /** A folder in the environment that the test may write to. */
  readonly folder: string;
  /** A file system of at most 64 MB that a test may fill; without it only the file size limit is tested. */
  readonly smallFolder?: string;
  /** A command that runs before each test, in an environment that only tests use. */
  readonly setUp?: string;
  /** The path of ripgrep, to compare its results with those of find and grep. */
  readonly ripgrep?: string;
  /** Whether another environment with the same shell and tools passes the contracts too. */
  readonly hasTestedShell?: boolean;
  open(): Promise<Environment>;
}

/** An environment with a new folder for a single test. */
export interface FilesLab extends AsyncDisposable {
  readonly environment: Environment;
  readonly files: EnvironmentFiles;
  readonly home: string;
  sh(command: string, variables?: Record<string, string>): Promise<string>;
}

export async function openFilesLab({ folder, setUp = ":", open }: FilesTraits): Promise<FilesLab> {
  const environment = await open();
  const home = `${folder}/files-${randomBytes(6).toString("hex")}`;
  await collect(environment, `mkdir -p ${home}; ${setUp}`);
  return {
    environment,
    home,
    files: createEnvironmentFiles(environment, environment.openSession()),
    async sh(command, variables = {}) {
      const run = await collect(environment, command, { workdir: home, variables });
      if (run.exitCode !== 0) throw new Error(`${command}: ${run.stderr}`);
      return run.stdout;
    },
    async [Symbol.asyncDispose]() {
      await collect(environment, `chmod -R u+rwx ${home}; rm -rf ${home}`);
      await environment[Symbol.asyncDispose]();
    },
  };
}

/** The same environment with each request passed through `change`. */
export function withChangedRequests(
  environment: Environment,
  change: (request: CommandRequest) => CommandRequest,
): Environment {
  return {
    openSession: () => environment.openSession(),
    run: (request, signal) => environment.run(change(request), signal),
    warm: async () => undefined,
    runningCommands: 0,
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/** The files of the same environment with each command passed through `alter`. */
export function withChangedCommands(
  environment: Environment,
  alter: (command: string) => string,
  programs: SearchPrograms = {},
): EnvironmentFiles {
  const other = withChangedRequests(environment, (request) => ({
    ...request,
    command: alter(request.command),
  }));
  return createEnvironmentFiles(other, other.openSession(), programs);
}
