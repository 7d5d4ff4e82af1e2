import { tmpdir } from "node:os";
import { AppError } from "../../lib/errors.ts";
import { createShell } from "../channel/shell.ts";
import type { Environment } from "../environment.ts";
import type { TerminalOptions } from "../options.ts";
import { passedVariables } from "../passed-variables.ts";
import type { FileSync } from "../sync/file-sync.ts";
import { createConnectFirst } from "./connect-first.ts";
import { ensureControlSocket } from "./control-socket.ts";
import { requireShell } from "./require-shell.ts";
import { CHANNEL_COMMAND, type SshTarget, sshArguments } from "./ssh-arguments.ts";

export interface SshPlace extends SshTarget {
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Two profiles never share a connection, even to the same host with the same key. */
  readonly profileId: string;
  /** Keeps files of ours up to date on the host; `tell` gives a person a sentence with the next result. */
  readonly sync?: (environment: Environment, tell: (notice: string) => void) => FileSync;
  /** Of the machine that we run on; ssh for Windows cannot share a connection. */
  readonly platform?: NodeJS.Platform;
  readonly temporaryFolder?: string;
}

/** Commands on another host, over one connection that all processes of a profile share. */
export async function openSshEnvironment(place: SshPlace): Promise<Environment> {
  const { options, variables, platform = process.platform } = place;
  requireHost(options);
  const socket = platform === "win32" ? undefined : await controlSocket(place);
  const connectFirst = socket === undefined ? undefined : createConnectFirst(socket);
  const notices: string[] = [];
  const shell = createShell({
    cwd: options.cwd === "" ? "~" : options.cwd,
    async transport(anew, signal) {
      if (anew) {
        // The shared connection may be the very thing that does not work, so a second try does without.
        connectFirst?.settle();
        await requireShell(place, variables, signal);
      } else {
        await connectFirst?.wait(signal);
      }
      return {
        argv: ["ssh", ...sshArguments(place, anew ? undefined : socket, CHANNEL_COMMAND)],
        env: variables,
      };
    },
    // The far end sees only what is named, and gets it over the channel: never in its arguments.
    variables: () => passedVariables(options.env_passthrough, (name) => variables[name]),
  });
  const sync = place.sync?.(shell, (notice) => void notices.push(notice));
  return {
    openSession: shell.openSession,
    warm: shell.warm,
    async run(request, signal) {
      await sync?.beforeCommand(signal);
      const result = await shell.run(request, signal);
      connectFirst?.settle(); // a connection that is cut from now on is nothing to wait for
      return { ...result, notices: [...notices.splice(0), ...result.notices] };
    },
    get busy() {
      return shell.busy;
    },
    [Symbol.asyncDispose]: () => shell[Symbol.asyncDispose](),
  };
}

function controlSocket({
  options,
  profileId,
  extraArguments = [],
  temporaryFolder,
}: SshPlace): Promise<string> {
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
      throw new AppError("config-invalid", `terminal.${key} cannot be ${JSON.stringify(value)}.`, {
        hint: `Set it with \`hermes config set terminal.${key} VALUE\`.`,
      });
    }
  }
}
