import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { userInfo } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { describe } from "vitest";
import { type TerminalOptions, terminalOptions } from "../../src/environments/options.ts";
import { freePort } from "./free-port.ts";
import { describeWith } from "./services.ts";
import { tempFolder } from "./temp-folder.ts";

const run = promisify(execFile);

export interface SshdOptions {
  /** Lines of its configuration, before ours. */
  readonly config?: readonly string[];
  /** The login shell, as a program that gets `-c` and the command; the account's own unless given. */
  readonly shell?: string;
  /** Shell text that runs before the server, in its own mount namespace; `$HOME_THERE` is its home folder. */
  readonly prepare?: string;
}

/** An SSH server of one test, on loopback, with its own keys and an empty home folder. */
export interface Sshd extends AsyncDisposable {
  readonly port: number;
  readonly folder: string;
  readonly home: string;
  readonly knownHosts: string;
  readonly identityFile: string;
  /** ssh options that every call needs. */
  readonly extraArguments: readonly string[];
  options(overrides?: object): TerminalOptions;
  /** Ends all connections as a crash would, without notifying the other side. */
  killConnections(): Promise<void>;
  /** Ends the server and all its connections. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Changes the host key, as on a reinstalled machine. */
  changeHostKey(): Promise<void>;
}

/** `describe` where `openSshd` works; elsewhere the tests are skipped, with the reason in the name. */
export function describeWithOwnSshd(name: string, body: () => void): void {
  if (process.getuid?.() === 0) describeWith("ssh", name, body);
  else describe.skip(`${name} [skipped, ssh with accounts of its own unavailable: needs root]`, body);
}

/** Needs root, on Linux, because it mounts its own list of accounts. */
export async function openSshd({ config = [], shell, prepare = ":" }: SshdOptions = {}): Promise<Sshd> {
  const temp = await tempFolder();
  const home = temp.file("home");
  await mkdir(home, { mode: 0o700 });
  const identityFile = temp.file("identity");
  const knownHosts = temp.file("known_hosts");
  const port = await freePort();
  const makeKey = (file: string) => run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", file]);
  await makeKey(identityFile);
  await makeKey(temp.file("host_key"));
  await writeFile(knownHosts, "");
  const { username, uid, gid } = userInfo();
  const account = `${username}:x:${uid}:${gid}::${home}:${shell ?? "/bin/bash"}\nsshd:x:100:65534::/run/sshd:/usr/sbin/nologin\n`;
  await writeFile(temp.file("passwd"), account);
  const lines = [
    ...config,
    `ListenAddress 127.0.0.1:${port}`,
    `HostKey ${temp.file("host_key")}`,
    `AuthorizedKeysFile ${identityFile}.pub`,
    "PidFile none",
    "StrictModes no",
    "UsePAM no",
    "PasswordAuthentication no",
    "KbdInteractiveAuthentication no",
    "PermitRootLogin prohibit-password",
    "MaxStartups 100",
    "PrintMotd no",
  ];
  await writeFile(temp.file("sshd_config"), `${lines.join("\n")}\n`);
  const program = [
    "set -e",
    `mount --bind ${temp.file("passwd")} /etc/passwd`,
    `HOME_THERE=${home}`,
    prepare,
    "mkdir -p /run/sshd",
    `exec /usr/sbin/sshd -D -e -f ${temp.file("sshd_config")}`,
  ].join("\n");

  let listener: number | undefined;
  async function start(): Promise<void> {
    const child = spawn("unshare", ["-m", "--propagation", "private", "sh", "-c", program], {
      stdio: "pipe",
    });
    let output = "";
    child.stderr.on("data", (chunk) => {
      output += chunk;
    });
    const gone = once(child, "exit").then(() => {
      throw new Error(`sshd did not start: ${output}`);
    });
    gone.catch(() => undefined);
    listener = child.pid;
    await Promise.race([answers(port), gone]);
  }
  async function killConnections(): Promise<void> {
    for (const { pid, name } of await descendants(listener)) if (name === "sshd") kill(pid);
  }
  async function stop(): Promise<void> {
    const below = await descendants(listener);
    kill(listener);
    for (const { pid } of below) kill(pid);
    listener = undefined;
  }
  await start();
  return {
    port,
    folder: temp.path,
    home,
    knownHosts,
    identityFile,
    extraArguments: ["-F", "none", "-o", `UserKnownHostsFile=${knownHosts}`],
    options: (overrides = {}) =>
      terminalOptions.parse({
        backend: "ssh",
        ssh_host: "127.0.0.1",
        ssh_user: username,
        ssh_port: port,
        ssh_key: identityFile,
        ...overrides,
      }),
    killConnections,
    stop,
    start,
    async changeHostKey() {
      await stop();
      await run("rm", [temp.file("host_key"), temp.file("host_key.pub")]);
      await makeKey(temp.file("host_key"));
      await start();
    },
    async [Symbol.asyncDispose]() {
      await stop();
      await temp[Symbol.asyncDispose]();
    },
  };
}

/** A proxy to a port of this machine that counts its traffic. */
export interface CountingProxy extends AsyncDisposable {
  readonly port: number;
  /** Bytes in both directions, and connections, since the last call. */
  take(): { readonly bytes: number; readonly connections: number };
}

export async function openCountingProxy(target: number): Promise<CountingProxy> {
  let bytes = 0;
  let connections = 0;
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    connections++;
    const far = connect(target, "127.0.0.1");
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.setNoDelay(true);
      from.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
      });
      from.on("error", () => to.destroy());
      from.on("close", () => sockets.delete(from));
      from.pipe(to);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: portOf(server.address()),
    take() {
      const counted = { bytes, connections };
      bytes = 0;
      connections = 0;
      return counted;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

function portOf(address: ReturnType<ReturnType<typeof createServer>["address"]>): number {
  if (address === null || typeof address === "string") throw new Error("not listening");
  return address.port;
}

async function answers(port: number): Promise<void> {
  for (;;) {
    const socket = connect(port, "127.0.0.1");
    try {
      await once(socket, "data", { signal: AbortSignal.timeout(150_000) });
      return;
    } catch (error) {
      if (error instanceof Error && error.name === "AbortError") throw error;
      await delay(20);
    } finally {
      socket.destroy();
    }
  }
}

interface Descendant {
  readonly pid: number;
  readonly name: string;
}

async function descendants(root: number | undefined): Promise<Descendant[]> {
  if (root === undefined) return [];
  const processes = new Map<number, { readonly name: string; readonly parent: number }>();
  for (const pid of await readdir("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined); // the process may have exited
    const [, name = "", parent = ""] = stat?.match(/^\d+ \((.*)\) \S+ (\d+)/s) ?? [];
    processes.set(Number(pid), { name, parent: Number(parent) });
  }
  const found = new Map<number, string>([[root, ""]]);
  for (let size = 0; size !== found.size; ) {
    size = found.size;
    for (const [pid, { name, parent }] of processes) if (found.has(parent)) found.set(pid, name);
  }
  found.delete(root);
  return [...found].map(([pid, name]) => ({ pid, name }));
}

function kill(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error) || error.code !== "ESRCH") throw error;
  }
}
