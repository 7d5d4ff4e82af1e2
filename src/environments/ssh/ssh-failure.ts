import { AppError, type ErrorCode } from "../../lib/errors.ts";
import { quoteWord } from "../channel/quote.ts";
import type { TerminalOptions } from "../options.ts";

interface Failure {
  readonly pattern: RegExp;
  readonly code: ErrorCode;
  message(where: string, found: RegExpMatchArray): string;
  hint(options: TerminalOptions, found: RegExpMatchArray): string;
}

const BY_HAND = ({ ssh_user, ssh_host, ssh_port }: TerminalOptions): string =>
  `\`ssh ${ssh_port === 22 ? "" : `-p ${ssh_port} `}${ssh_user}@${ssh_host}\``;

/** What ssh says when it cannot connect, and what a person can do about it; the first row that fits counts. */
const FAILURES: readonly Failure[] = [
  {
    pattern: /IDENTIFICATION HAS CHANGED[\s\S]*?Offending \S+ key in (.+?:\d+)/,
    code: "ssh-host-key-changed",
    message: (where, found) => `${where} shows another host key than the one known from ${found[1]}.`,
    hint: ({ ssh_host, ssh_port }, found) => {
      const file = quoteWord((found[1] ?? "").replace(/:\d+$/, ""));
      const host = quoteWord(ssh_port === 22 ? ssh_host : `[${ssh_host}]:${ssh_port}`);
      return `If you know why (it was reinstalled), forget the old key with \`ssh-keygen -f ${file} -R ${host}\`. If not, somebody may be in between: do not connect.`;
    },
  },
  {
    pattern: /Host key verification failed|REVOKED HOST KEY/,
    code: "ssh-host-key-changed",
    message: (where) => `The host key of ${where} is not accepted.`,
    hint: (options) => `Connect by hand to see why: ${BY_HAND(options)}.`,
  },
  {
    pattern: /Permissions \d+ for '(.+)' are too open/,
    code: "ssh-denied",
    message: (where, found) => `ssh does not use the key ${found[1]} for ${where}: others can read it.`,
    hint: (_, found) => `Make it yours alone with \`chmod 600 ${quoteWord(found[1] ?? "")}\`.`,
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
    message: (where) => `${where} did not let us log in.`,
    hint: (options) =>
      `Set terminal.ssh_key, or let the host know your key with \`ssh-copy-id\`. A key with a passphrase must be in ssh-agent: nobody is asked. Try ${BY_HAND(options)}.`,
  },
  {
    pattern: /Could not resolve hostname/,
    code: "ssh-unreachable",
    message: (where) => `The host name of ${where} is not known.`,
    hint: () => "Check terminal.ssh_host, and whether the name needs a VPN.",
  },
  {
    pattern: /Connection refused/,
    code: "ssh-unreachable",
    message: (where) => `${where} refuses connections.`,
    hint: () => "Check terminal.ssh_port, and that an SSH server runs there.",
  },
  {
    pattern: /Connection (closed|reset) by|kex_exchange_identification|Bad remote protocol/,
    code: "ssh-unreachable",
    message: (where) => `${where} ends the connection before we can log in.`,
    hint: () =>
      "Check that terminal.ssh_port is that of an SSH server; it may also have too many connections or ban us for a while.",
  },
  {
    pattern: /timed out|No route to host|Network is unreachable|Host is down/,
    code: "ssh-unreachable",
    message: (where) => `${where} does not answer.`,
    hint: () => "Check that the host is up, and the network, VPN and firewall on the way.",
  },
];

/** The failure that stands in ssh's own words, which are kept in the message where they say more. */
export function createSshFailure(options: TerminalOptions, stderr: string): AppError {
  const { ssh_user, ssh_host, ssh_port } = options;
  const where = `${ssh_user}@${ssh_host}${ssh_port === 22 ? "" : `:${ssh_port}`}`;
  const words = printable(stderr);
  for (const { pattern, code, message, hint } of FAILURES) {
    const found = words.match(pattern);
    if (found) {
      return new AppError(code, `${message(where, found)} ssh says: ${lastLine(words)}`, {
        hint: hint(options, found),
      });
    }
  }
  const said = lastLine(words) || "nothing";
  return new AppError("ssh-unreachable", `No connection to ${where}. ssh says: ${said}`, {
    hint: `Connect by hand to see more: ${BY_HAND(options)}.`,
  });
}

/** The other side can make ssh print what it likes, which must not reach a terminal as commands. */
export function printable(text: string): string {
  return text.replaceAll("\r", "").replace(/[^\P{C}\n]/gu, "");
}

export function lastLine(text: string): string {
  return text.trim().split("\n").at(-1)?.trim() ?? "";
}
