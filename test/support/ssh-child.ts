import { writeSync } from "node:fs";
import { type TerminalOptions, terminalOptions } from "../../src/environments/options.ts";
import { openSshEnvironment } from "../../src/environments/ssh/ssh-environment.ts";

export interface SshChildInput {
  readonly options: TerminalOptions;
  readonly extraArguments: readonly string[];
  readonly temporaryFolder: string;
  readonly profileId: string;
  readonly command: string;
}

/** Another process of the same profile: runs one command, and prints its output as it arrives and how it ended. */
async function main({ options, command, ...rest }: SshChildInput): Promise<void> {
  const { PATH } = process.env;
  await using environment = await openSshEnvironment({
    options: terminalOptions.parse(options),
    variables: { PATH },
    ...rest,
  });
  const result = await environment.run(
    {
      command,
      session: environment.openSession(),
      timeoutMs: 300_000,
      onOutput: (_, bytes) => print(Buffer.from(bytes).toString("utf8")),
    },
    AbortSignal.timeout(300_000),
  );
  print(result.ended);
}

function print(report: unknown): void {
  writeSync(1, `${JSON.stringify(report)}\n`);
}

await main(JSON.parse(process.argv[3] ?? ""));
