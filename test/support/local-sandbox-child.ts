import { collect } from "../../src/environments/environment.contract.ts";
import { openLocalEnvironment } from "../../src/environments/local/local-environment.ts";
import { terminalOptions } from "../../src/environments/options.ts";
import { playRole, print } from "./child-role.ts";

export interface SandboxedCommands {
  readonly options: object;
  readonly variables: Readonly<Record<string, string>>;
  readonly profileHome: string;
  readonly cwd: string;
  readonly commands: readonly string[];
}

export interface SandboxedResult {
  readonly command: string;
  readonly exitCode: number;
  readonly output: string;
  readonly notices: readonly string[];
}

await playRole({
  /** Runs commands in a local sandbox, one after the other, and prints each result. The pid of this process is $VICTIM. */
  async run({ options, commands, ...parts }: SandboxedCommands) {
    const parsed = terminalOptions.parse({ shell_init_files: ["/dev/null"], ...options });
    await using environment = await openLocalEnvironment({ ...parts, options: parsed });
    for (const command of commands) {
      const text = command.replaceAll("$VICTIM", String(process.pid));
      const { stdout, exitCode, notices } = await collect(environment, text, { mergeStderr: true });
      print({ command, exitCode, output: stdout, notices } satisfies SandboxedResult);
    }
  },
});
