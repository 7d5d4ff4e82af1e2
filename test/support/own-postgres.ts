import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chown, mkdtemp, readlink, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import pg from "pg";
import { freePort } from "./free-port.ts";
import type { RunningPart } from "./services.ts";

const run = promisify(execFile);
const UP_WITHIN_MS = 150_000;

/** A PostgreSQL server of one test, which may kill it. */
export interface OwnPostgres extends AsyncDisposable {
  readonly url: string;
  /** Kills the server: data that was not durable is lost. */
  kill(): Promise<void>;
  /** Starts the server again on the same data and port; resolves when it answers. */
  start(): Promise<void>;
}

/** Uses the programs and user of the shared server, with its own data and port. */
export async function openOwnPostgres(shared: RunningPart<"postgres">): Promise<OwnPostgres> {
  const programs = dirname(await readlink(`/proc/${shared.process.pid}/exe`));
  const { uid, gid } = await stat(join(shared.socketFolder, "data")); // PostgreSQL refuses to run as root
  const user = process.getuid?.() === 0 ? { uid, gid } : {};
  const folder = await mkdtemp(join(tmpdir(), "hermes-test-"));
  const data = join(folder, "data");
  const password = randomBytes(16).toString("hex");
  const port = await freePort();
  const url = `postgres://hermes:${password}@127.0.0.1:${port}/postgres`;
  await writeFile(join(folder, "password"), password, { mode: 0o600 });
  for (const path of [folder, join(folder, "password")]) await chown(path, uid, gid);
  const login = ["--username", "hermes", "--pwfile", join(folder, "password"), "--auth", "scram-sha-256"];
  const words = ["--pgdata", data, "--no-sync", "--encoding", "UTF8", "--locale", "C.UTF-8", ...login];
  await run(join(programs, "initdb"), words, { ...user, cwd: folder });
  let server: ChildProcess | undefined;

  const kill = async (): Promise<void> => {
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
    const ended = once(server, "exit");
    server.kill("SIGKILL");
    await ended;
  };
  const start = async (): Promise<void> => {
    const settings = ["listen_addresses=127.0.0.1", `unix_socket_directories=${folder}`];
    const args = ["-D", data, "-p", String(port), ...settings.flatMap((setting) => ["-c", setting])];
    const deadline = performance.now() + UP_WITHIN_MS;
    while (!(await answers(url))) {
      if (performance.now() > deadline) throw new Error("the server did not start");
      // The server refuses to start while children of a killed one still run, so the start is repeated.
      if (server === undefined || server.exitCode !== null || server.signalCode !== null)
        server = spawn(join(programs, "postgres"), args, { ...user, cwd: folder, stdio: "ignore" });
      await sleep(100);
    }
  };
  await start();
  return {
    url,
    kill,
    start,
    async [Symbol.asyncDispose]() {
      await kill();
      await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    },
  };
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 30_000 });
  client.on("error", () => undefined);
  try {
    await client.connect();
    await client.query("select 1");
    return true;
  } catch {
    return false; // not ready yet
  } finally {
    await client.end().catch(() => undefined);
  }
}
