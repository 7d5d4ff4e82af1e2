import { operandsOf } from "./commands/arguments.ts";
import { filesReadBy } from "./commands/rules/files.ts";
import { locate } from "./commands/sensitive-paths.ts";
import { writtenBy } from "./commands/written-files.ts";
import type { Invocation } from "./shell-reader/invocation.ts";

/** One file that a program would use. */
export interface UsedFile {
  /** The absolute path. */
  readonly path: string;
  /** False if the program acts on the link itself where the path is a symbolic link. */
  readonly followsLink: boolean;
}

/** What the programs of a command would read, write and contact, as far as their arguments reveal it. */
export interface CommandEffects {
  readonly reads: readonly UsedFile[];
  readonly writes: readonly UsedFile[];
  readonly hosts: readonly string[];
}

/** Programs that only print, search or edit their arguments: an address among them is not contacted. */
const PRINTERS = new Set(
  "echo printf true false : test [ cd export set local declare alias grep egrep fgrep rg sed awk jq cat ls".split(
    " ",
  ),
);
/** Programs whose operands are addresses, with or without a scheme. */
const CLIENTS =
  /^(?:curl|wget|aria2c|http|https|xh|lynx|w3m|links|fetch|nc|ncat|netcat|telnet|ftp|ping|ping6|traceroute|dig|host|nslookup|mosh|ssh|ssh-copy-id|sftp)$/;
const CLIENT_OPTIONS =
  /^-(?:[AbBcdDeEFHhiIJKlLmopPQrRSTtuUwWxXyYz])$|^--(?:data.*|header|user|user-agent|request|output|form|cookie|max-time|connect-timeout|retry|cacert|cert|key|upload-file|json|referer|proxy-user|post-data|post-file|body-data|body-file)$/;
const COPIERS = /^(?:scp|rsync|sftp|rclone)$/;
const LINK_PROGRAMS = new Set(["rm", "rmdir", "unlink", "mv", "ln"]);
const URL_HOST = /\b[a-z][a-z0-9+.-]*:\/\/(?:[^\s/@]*@)?(\[[0-9a-f:.]+\]|[^\s/:?#'"`)\\]+)/gi;
/** `user@host:path` or `host:path`, as scp and git take it. */
const SCP_HOST = /^(?:[^\s/@:]+@)?([^\s/@:]+):(?!\/\/)/;

/** Collects the effects of all programs; files on other machines do not count. */
export function collectCommandEffects(invocations: readonly Invocation[]): CommandEffects {
  const reads = new Map<string, UsedFile>();
  const writes = new Map<string, UsedFile>();
  const hosts = new Set<string>();
  for (const invocation of invocations) {
    for (const host of hostsOf(invocation)) hosts.add(host.toLowerCase());
    if (invocation.remote) continue;
    const { name, args, cwd, files } = invocation;
    const followsLink = !LINK_PROGRAMS.has(name);
    const redirected = new Set(files.map(({ path }) => path));
    for (const word of writtenBy(invocation)) {
      const path = locate(word, cwd);
      writes.set(path, { path, followsLink: followsLink || redirected.has(word) });
    }
    const opened = files.filter(({ operator }) => operator.startsWith("<")).map(({ path }) => path);
    for (const word of [...opened, ...filesReadBy(name, args)]) {
      const path = locate(word, cwd);
      reads.set(path, { path, followsLink: true });
    }
  }
  return { reads: [...reads.values()], writes: [...writes.values()], hosts: [...hosts] };
}

/** The hosts that a program names. */
export function hostsOf({ name, args, files }: Invocation): readonly string[] {
  const sockets = files.flatMap(({ path }) => /^\/dev\/(?:tcp|udp)\/([^/]+)/.exec(path)?.[1] ?? []);
  if (PRINTERS.has(name)) return sockets;
  const urls = args.filter((word) => word.includes("://"));
  const named = urls.flatMap((word) => [...word.matchAll(URL_HOST)].map(([, host = ""]) => host));
  if (COPIERS.test(name) || name === "git")
    named.push(...args.flatMap((word) => SCP_HOST.exec(word)?.[1] ?? []));
  if (CLIENTS.test(name)) named.push(...operandsOf(args, CLIENT_OPTIONS).slice(0, 20).flatMap(hostOfOperand));
  return [...sockets, ...named];
}

/** The host of `example.com/path`, `user@example.com` or `example.com:80`. */
function hostOfOperand(word: string): readonly string[] {
  if (word.includes("://")) return [];
  const host = /^(?:[^\s/@]*@)?(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?:[:/?]|$)/i.exec(word)?.[1];
  return host === undefined || host.startsWith(".") ? [] : [host];
}
