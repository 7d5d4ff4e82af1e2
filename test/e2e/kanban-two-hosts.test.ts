import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, readlink, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { attachFile } from "../../src/board/attachments/attachment-files.ts";
import { openBoardStore } from "../../src/board/board-store.ts";
import { runLogPath } from "../../src/board/supervisor/log/run-log.ts";
import { boardFolders } from "../../src/board/workspaces/board-folders.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { openOwnDatabase } from "../support/own-database.ts";
import { describeWith } from "../support/services.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { eventually, PROGRAM } from "../support/worker-lab.ts";

const run = promisify(execFile);
const ISOLATED = ["--pid", "--uts", "--fork", "--mount-proc", "--kill-child"];

/** Whether this machine allows us to create a pid namespace and a host name. */
const isolates = await run("unshare", [...ISOLATED, "true"]).then(
  () => true,
  () => false,
);

/** A daemon with its own home, host name and pid namespace, as on another machine. Workers run `work`. */
async function startHost(folder: string, name: string, databaseUrl: string, work: string) {
  const root = join(folder, name);
  const profile = join(root, "profiles", "coder");
  await mkdir(profile, { recursive: true, mode: 0o700 });
  const answers = [{ tools: [{ name: "terminal", input: { command: work } }] }];
  await writeFile(join(profile, "script.json"), JSON.stringify({ answers }));
  const model = `model:\n  provider: scripted\n  default: ${join(profile, "script.json")}\n`;
  await writeFile(join(profile, "config.yaml"), model);
  const command = ["sh", "-c", 'hostname "$0" && exec "$@"', name, ...PROGRAM, "kanban", "daemon"];
  const child = spawn("unshare", [...ISOLATED, ...command], {
    env: {
      PATH: process.env["PATH"],
      HOME: root,
      HERMES_HOME: root,
      HERMES_KANBAN_DATABASE_URL: databaseUrl,
    },
    stdio: "ignore",
  });
  const exited = once(child, "exit");
  return {
    /** Suspends all processes of this host, as simultaneously as possible. */
    async freeze(): Promise<void> {
      for (const pid of await pidsWithin(child.pid ?? 0)) process.kill(pid, "SIGSTOP");
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL"); // ends all processes of its pid namespace
      await exited;
    },
  };
}

/** All processes in the pid namespace of the child of `unshare`. */
async function pidsWithin(unshare: number): Promise<readonly number[]> {
  const inside = await readlink(`/proc/${unshare}/ns/pid_for_children`);
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const found = pids.map(async (pid) => {
    const namespace = await readlink(`/proc/${pid}/ns/pid`).catch(() => "");
    return namespace === inside ? [pid] : [];
  });
  return (await Promise.all(found)).flat();
}

describeWith("postgres", "two hosts on one board", ({ url }) => {
  test.skipIf(!isolates)(
    `a task whose host is suspended and then killed starts on the other host soon after its lease expires, with its files${isolates ? "" : " [skipped: may not isolate]"}`,
    async () => {
      await using folder = await tempFolder();
      await using database = await openOwnDatabase(url);
      const location = { root: folder.file("mine"), databaseUrl: database.url, slug: "default" };
      await using store = await openBoardStore(location, { connections: 1 }, neverAborted);
      const operator = store.as({ kind: "operator", name: "alice" });
      const { task } = await operator.create({ title: "long", assignee: "coder" }, neverAborted);
      const attachments = {
        ...boardFolders(location.root, "default"),
        now: Date.now,
        sharedLimitBytes: 1_000,
      };
      const brief = { name: "brief.txt", bytes: Buffer.from("the brief") };
      await attachFile({ client: operator, folders: attachments }, task.id, brief, neverAborted);
      /** Copies the attachment, which proves that it was readable there, and then runs for a long time. */
      const workOn = (host: string): string => {
        const file = join(folder.path, host, "kanban/attachments", task.id, "1/brief.txt");
        return `cat ${file} > ${folder.file(`${host}.txt`)}; sleep 300`;
      };
      const runs = async () => (await store.show(task.id, neverAborted)).runs;
      await using first = await startHost(folder.path, "first", database.url, workOn("first"));
      await eventually(async () => (await runs())[0]?.worker_pid != null);
      await using second = await startHost(folder.path, "second", database.url, workOn("second"));
      await first.freeze();
      await eventually(async () => (await runs()).length === 2 && (await runs())[1]?.worker_pid != null);
      await first[Symbol.asyncDispose]();
      const isRead = async () => (await readFile(folder.file("second.txt"), "utf8").catch(() => "")) !== "";
      await eventually(isRead);
      expect(await readFile(folder.file("second.txt"), "utf8")).toBe("the brief");
      const { events, runs: both } = await store.show(task.id, neverAborted);
      expect(both).toMatchObject([{ outcome: "reclaimed" }, { outcome: null }]);
      expect(both[1]?.host_id).not.toBe(both[0]?.host_id);
      const leaseEnd = Number(events.find(({ kind }) => kind === "reclaimed")?.payload["claim_expires"]);
      const spawned = events.findLast(({ kind }) => kind === "spawned")?.created_at ?? 0;
      expect(spawned - leaseEnd).toBeGreaterThan(0);
      // The start is taken from the log file, on this machine's clock; at most 10 s after the end of the lease are promised.
      const log = await stat(runLogPath(folder.file("second"), "default", task.id, both[1]?.id ?? 0));
      expect(log.birthtimeMs - leaseEnd).toBeLessThan(10_000);
      await second.freeze();
      expect(await store.check(neverAborted)).toEqual([]);
    },
    600_000,
  );
});
