import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AppError } from "../../lib/errors.ts";
import { ensurePrivateFolder } from "../../lib/files.ts";
import { SHELL_ARGUMENTS } from "../channel/driver.ts";
import { quoteWord } from "../channel/quote.ts";
import { createShell } from "../channel/shell.ts";
import type { Environment } from "../environment.ts";
import type { TerminalOptions } from "../options.ts";

export interface SshPlace {
  readonly options: TerminalOptions;
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Two profiles never share a connection, even to the same host with the same key. */
  readonly profileId: string;
  /** Further options of ssh, before ours. */
  readonly extraArguments?: readonly string[];
}

/** How long an idle connection is kept for the next process. */
const PERSIST_SECONDS = 300;

/** Commands on another host, over one connection that all processes of a profile share. */
export async function openSshEnvironment(place: SshPlace): Promise<Environment> {
  const { options, variables } = place;
  requireHost(options);
  const socket = await controlSocket(place);
  return createShell({
    cwd: options.cwd === "" ? "~" : options.cwd,
    transport: async () => ({ argv: ["ssh", ...sshArguments(place, socket)], env: variables }),
    // The far end sees only what is named, and gets it over the channel: never in its arguments.
    variables: () => passedOn(options.env_passthrough, variables),
  });
}

function sshArguments({ options, extraArguments = [] }: SshPlace, socket: string): string[] {
  const settings = [
    "BatchMode=yes",
    "StrictHostKeyChecking=accept-new",
    "ConnectTimeout=10",
    "ServerAliveInterval=15",
    "ServerAliveCountMax=3",
    // The connection outlives whoever opened it and ends by itself, so nobody has to count its users.
    "ControlMaster=auto",
    `ControlPath=${socket}`,
    `ControlPersist=${PERSIST_SECONDS}`,
  ];
  return [
    ...extraArguments,
    ...settings.flatMap((setting) => ["-o", setting]),
    "-T",
    ...(options.ssh_port === 22 ? [] : ["-p", String(options.ssh_port)]),
    ...(options.ssh_key === "" ? [] : ["-i", options.ssh_key, "-o", "IdentitiesOnly=yes"]),
    "--",
    `${options.ssh_user}@${options.ssh_host}`,
    // One word per word, quoted so that any login shell hands them on unchanged.
    ["sh", ...SHELL_ARGUMENTS].map((word) => (/^[\w-]+$/.test(word) ? word : quoteWord(word))).join(" "),
  ];
}

/** Short, because a socket's path may have 104 bytes at most on some systems. */
async function controlSocket({ options, profileId, extraArguments = [] }: SshPlace): Promise<string> {
  const folder = join(tmpdir(), `hermes-ssh-${process.getuid?.() ?? 0}`);
  await ensurePrivateFolder(folder);
  const { ssh_user, ssh_host, ssh_port, ssh_key } = options;
  const identity = JSON.stringify([ssh_user, ssh_host, ssh_port, ssh_key, profileId, extraArguments]);
  return join(folder, `${createHash("sha256").update(identity).digest("hex").slice(0, 16)}.sock`);
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

function passedOn(names: readonly string[], variables: SshPlace["variables"]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => (variables[name] === undefined ? [] : [[name, variables[name]]])),
  );
}
