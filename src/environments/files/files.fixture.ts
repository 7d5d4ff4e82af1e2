import { randomBytes } from "node:crypto";
import { collect } from "../environment.contract.ts";
import type { CommandRequest, Environment } from "../environment.ts";
import { createEnvironmentFiles, type EnvironmentFiles } from "./environment-files.ts";
import type { SearchPrograms } from "./search/search-script.ts";

/** Where kinds of environments differ for files; every difference is written down here. */
export interface FilesTraits {
  readonly name: string;
  /** A folder of the environment that the test may write to. */
  readonly folder: string;
  /** A file system of at most 64 MB that a test may fill; where there is none only the size limit of files is tried. */
  readonly smallFolder?: string;
  /** Run first, in a place that belongs to the tests. */
  readonly setUp?: string;
  /** A second way to search, to compare with find and grep. */
  readonly ripgrep?: string;
  /** Its commands run in the image that Docker runs the same contract in, by the code of Docker. */
  readonly hasShellOfDocker?: boolean;
  open(): Promise<Environment>;
}

/** An environment and a new folder in it that is one test's alone. */
export interface FilesPlace extends AsyncDisposable {
  readonly environment: Environment;
  readonly files: EnvironmentFiles;
  readonly home: string;
  sh(command: string, variables?: Record<string, string>): Promise<string>;
}

export async function openFilesPlace({ folder, setUp = ":", open }: FilesTraits): Promise<FilesPlace> {
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

/** The same environment with each request changed on its way. */
export function changed(
  environment: Environment,
  change: (request: CommandRequest) => CommandRequest,
): Environment {
  return {
    openSession: () => environment.openSession(),
    run: (request, signal) => environment.run(change(request), signal),
    warm: async () => undefined,
    busy: 0,
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/** The files of the same environment with something put before each command. */
export function altered(
  environment: Environment,
  alter: (command: string) => string,
  programs: SearchPrograms = {},
): EnvironmentFiles {
  const other = changed(environment, (request) => ({ ...request, command: alter(request.command) }));
  return createEnvironmentFiles(other, other.openSession(), programs);
}
