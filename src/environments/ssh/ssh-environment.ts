import { tmpdir } from "node:os";
import { AppError } from "../../lib/errors.ts";
import { createShell } from "../channel/shell.ts";
import type { Environment } from "../environment.ts";
import type { TerminalOptions } from "../options.ts";
import { selectPassedVariables } from "../passed-variables.ts";
import type { FileSync } from "../sync/file-sync.ts";
import { createConnectGate } from "./connect-gate.ts";
import { ensureControlSocket } from "./control-socket.ts";
import { requireShell } from "./require-shell.ts";
import { CHANNEL_COMMAND, type SshTarget, sshArguments } from "./ssh-arguments.ts";

export interface SshEnvironmentOptions extends SshTarget {
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Two profiles never share a connection, even to the same host with the same key. */
  readonly profileId: string;
  /** Syncs local files to the host; `report` adds a notice to the next result. */
  readonly sync?: (environment: Environment, report: (notice: string) => void) => FileSync;
  /** The platform of this machine; ssh for Windows cannot share a connection. */
  readonly platform?: NodeJS.Platform;
  readonly temporaryFolder?: string;
}

/** Runs commands on another host, over one connection that all processes of a profile share. */
export async function openSshEnvironment(target: SshEnvironmentOptions): Promise<Environment> {
  const { options, variables, platform = process.platform } = target;
  requireHost(options);
  const socket = platform === "win32" ? undefined : await controlSocket(target);
  const connectGate = socket === undefined ? undefined : createConnectGate(socket);
  const notices: string[] = [];
  const shell = createShell({
    cwd: options.cwd === "" ? "~" : options.cwd,
    async transport(isRetry, signal) {
      if (isRetry) {
        // The shared connection may be broken, so the second attempt uses a connection of its own.
        connectGate?.settle();
        await requireShell(target, variables, signal);
      } else {
        await connectGate?.wait(signal);
      }
      return {
        argv: ["ssh", ...sshArguments(target, isRetry ? undefined : socket, CHANNEL_COMMAND)],
        env: variables,
      };
    },
    // Only named variables are sent, over the channel and never as arguments.
    variables: () => selectPassedVariables(options.env_passthrough, (name) => variables[name]),
  });
  const sync = target.sync?.(shell, (notice) => void notices.push(notice));
  return {
    openSession: shell.openSession,
    warm: shell.warm,
    async run(request, signal) {
      await sync?.beforeCommand(signal);
      const result = await shell.run(request, signal);
      connectGate?.settle(); // if the connection is lost later, callers must not wait for it
      return { ...result, notices: [...notices.splice(0), ...result.notices] };
    },
    get runningCommands() {
      return shell.runningCommands;
    },
    [Symbol.asyncDispose]: () => shell[Symbol.asyncDispose](),
  };
}

function controlSocket({
  options,
  profileId,
  extraArguments = [],
  temporaryFolder,
}: SshEnvironmentOptions): Promise<string> {
  const { ssh_user, ssh_host, ssh_port, ssh_key } = options;
  const identity = [ssh_user, ssh_host, ssh_port, ssh_key, profileId, extraArguments];
  return ensureControlSocket(identity, temporaryFolder ?? tmpdir());
}

function requireHost({ ssh_host, ssh_user }: TerminalOptions): void {
  for (const [key, value] of Object.entries({ ssh_host, ssh_user })) {
    if (value === "") {
      throw new AppError("config-invalid", `terminal.backend is ssh, but terminal.${key} is not set.`, {
        hint: `Set it with \`hermes config set terminal.${key} VALUE\`.`,
      });
    }
    if (value.startsWith("-") || /[\s@]/.test(value)) {
      const hint = `Set it with \`hermes config set terminal.${key} VALUE\`.`;
      throw new AppError("config-invalid", `terminal.${key} cannot be ${JSON.stringify(value)}.`, { hint });
    }
  }
}
