import { AppError, type ErrorCode } from "../../lib/errors.ts";
import { quoteWord } from "../channel/quote.ts";
import type { TerminalOptions } from "../options.ts";

interface Failure {
  readonly pattern: RegExp;
  readonly code: ErrorCode;
  message(where: string, found: RegExpMatchArray): string;
  hint(options: TerminalOptions, found: RegExpMatchArray): string;
}

const formatCommand = ({ ssh_user, ssh_host, ssh_port }: TerminalOptions): string =>
  `\`ssh ${ssh_port === 22 ? "" : `-p ${ssh_port} `}${ssh_user}@${ssh_host}\``;

/** Error messages of ssh with their hints; the first matching row is used. */
const FAILURES: readonly Failure[] = [
  {
    pattern: /IDENTIFICATION HAS CHANGED[\s\S]*?Offending \S+ key in (.+?:\d+)/,
    code: "ssh-host-key-changed",
    message: (where, found) => `The host key of ${where} differs from the known one in ${found[1]}.`,
    hint: ({ ssh_host, ssh_port }, found) => {
      const file = quoteWord((found[1] ?? "").replace(/:\d+$/, ""));
      const host = quoteWord(ssh_port === 22 ? ssh_host : `[${ssh_host}]:${ssh_port}`);
      return `If you know why (the host was reinstalled), remove the old key with \`ssh-keygen -f ${file} -R ${host}\`. If not, the connection may be intercepted: do not connect.`;
    },
  },
  {
    pattern: /Host key verification failed|REVOKED HOST KEY/,
    code: "ssh-host-key-changed",
    message: (where) => `The host key of ${where} is not accepted.`,
    hint: (options) => `Connect manually to see why: ${formatCommand(options)}.`,
  },
  {
    pattern: /Permissions \d+ for '(.+)' are too open/,
    code: "ssh-denied",
    message: (where, found) => `ssh refuses the key ${found[1]} for ${where}: other users can read it.`,
    hint: (_, found) => `Make it private with \`chmod 600 ${quoteWord(found[1] ?? "")}\`.`,
  },
  {
    pattern: /Identity file (.+) not accessible: (.+?)\.?$/m,
    code: "ssh-denied",
    message: (where, found) => `The key ${found[1]} for ${where} cannot be read: ${found[2]}.`,
    hint: () => "Set terminal.ssh_key to the path of your private key.",
  },
  {
    pattern: /Permission denied|Too many authentication failures|No supported authentication/i,
    code: "ssh-denied",
    message: (where) => `${where} denied the login.`,
    hint: (options) =>
      `Set terminal.ssh_key, or install your key on the host with \`ssh-copy-id\`. A key with a passphrase must be loaded in ssh-agent, because Hermes does not ask for it. Try ${formatCommand(options)}.`,
  },
  {
    pattern: /Could not resolve hostname/,
    code: "ssh-unreachable",
    message: (where) => `The host name of ${where} cannot be resolved.`,
    hint: () => "Check terminal.ssh_host, and whether the name needs a VPN.",
  },
  {
    pattern: /Connection refused/,
    code: "ssh-unreachable",
    message: (where) => `${where} refuses connections.`,
    hint: () => "Check terminal.ssh_port, and that an SSH server is running on the host.",
  },
  {
    pattern: /Connection (closed|reset) by|kex_exchange_identification|Bad remote protocol/,
    code: "ssh-unreachable",
    message: (where) => `${where} closes the connection before the login.`,
    hint: () =>
      "Check that terminal.ssh_port is the port of an SSH server; the server may also have too many connections or have banned this machine for a while.",
  },
  {
    pattern: /timed out|No route to host|Network is unreachable|Host is down/,
    code: "ssh-unreachable",
    message: (where) => `${where} does not answer.`,
    hint: () => "Check that the host is up, and check the network, VPN and firewall.",
  },
];

/** Converts ssh's error output into an error with a hint; the message includes ssh's last line. */
export function createSshFailure(options: TerminalOptions, stderr: string): AppError {
  const { ssh_user, ssh_host, ssh_port } = options;
  const where = `${ssh_user}@${ssh_host}${ssh_port === 22 ? "" : `:${ssh_port}`}`;
  const text = stripControls(stderr);
  for (const { pattern, code, message, hint } of FAILURES) {
    const found = text.match(pattern);
    if (found) {
      return new AppError(code, `${message(where, found)} ssh reports: ${lastLine(text)}`, {
        hint: hint(options, found),
      });
    }
  }
  const reported = lastLine(text) || "nothing";
  const hint = `Connect manually to see more: ${formatCommand(options)}.`;
  return new AppError("ssh-unreachable", `No connection to ${where}. ssh reports: ${reported}`, { hint });
}

/** Removes control characters: the remote side controls ssh's output, which must not send commands to the terminal. */
export function stripControls(text: string): string {
  return text.replaceAll("\r", "").replace(/[^\P{C}\n]/gu, "");
}

export function lastLine(text: string): string {
  return text.trim().split("\n").at(-1)?.trim() ?? "";
}
