import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { attachFile } from "../../src/board/attachments/attachment-files.ts";
import { boardFolders } from "../../src/board/workspaces/board-folders.ts";
import { readHostFacts } from "../../src/lib/process/host-facts.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { openSessionStore } from "../../src/sessions/session-store.ts";
import { describeWith } from "../support/services.ts";
import { eventually, openWorkerLab, PROGRAM } from "../support/worker-lab.ts";

const run = promisify(execFile);
const LIMIT = 600_000;

describeWith("docker", "a worker whose profile runs commands in Docker", ({ host, client, images }) => {
  const settings = (more = ""): string => `terminal:
  backend: docker
  docker_binary: ${client}
  docker_image: ${images.bash}
  docker_network: false
  container_disk: 0
  container_memory: 256
${more}`;
  const docker = async (...args: readonly string[]): Promise<string> =>
    (await run(client, args, { env: { ...process.env, DOCKER_HOST: host } })).stdout;
  /** The sandboxes that mount something of the folder. */
  const sandboxesOf = async (folder: string): Promise<string[]> => {
    const listed = await docker("ps", "--all", "--no-trunc", "--format", "{{.Names}} {{.Mounts}}");
    return listed.split("\n").flatMap((line) => (line.includes(folder) ? [line.split(" ")[0] ?? ""] : []));
  };
  const openLab = async () => {
    const lab = await openWorkerLab({ variables: { DOCKER_HOST: host } });
    onTestFinished(async () => {
      const names = await sandboxesOf(lab.folder.path);
      if (names.length > 0) await docker("rm", "--force", "--volumes", ...names);
    });
    return lab;
  };
  const call = (name: string, input: object) => ({ tools: [{ name, input }] });
  const work = [
    call("terminal", { command: "pwd > where.txt; ls -a / > root.txt; cat given.txt >> where.txt" }),
    call("write_file", { path: "made.txt", content: "made inside\n" }),
    call("kanban_show", {}),
    call("kanban_complete", { summary: "done", artifacts: ["/workspace/made.txt", "where.txt"] }),
  ];

  test(
    "works in the folder of its task, keeps files from there as artifacts, and leaves no sandbox behind",
    async () => {
      await using lab = await openLab();
      await lab.addProfile("coder", { answers: work }, { settings: settings() });
      const project = lab.folder.file("project");
      await mkdir(project);
      await writeFile(`${project}/given.txt`, "given outside\n");
      const claimed = await lab.claim(
        (await lab.add("inside", { workspaceKind: "dir", workspacePath: project })).id,
      );
      expect(await lab.host.start(claimed, neverAborted)).toMatchObject({
        kind: "started",
        workspace: project,
      });
      const ended = await lab.ended(claimed);
      expect(ended, await lab.logOf(claimed)).toMatchObject({ outcome: "completed" });
      expect(await readFile(`${project}/where.txt`, "utf8")).toBe("/workspace\ngiven outside\n");
      expect(await readFile(`${project}/root.txt`, "utf8")).toContain(".dockerenv\n");
      expect(await readFile(`${project}/made.txt`, "utf8")).toBe("made inside\n");
      const { attachments } = await lab.store.show(claimed.task.id, neverAborted);
      expect(attachments.map(({ filename }) => filename).toSorted()).toEqual(["made.txt", "where.txt"]);
      await eventually(async () => (await sandboxesOf(lab.folder.path)).length === 0);
    },
    LIMIT,
  );

  test(
    "reads the files of its task and of the parent tasks at the paths in its prompt, and cannot change them",
    async () => {
      await using lab = await openLab();
      const attachments = { ...boardFolders(lab.root, "default"), now: Date.now };
      const attach = (id: string, name: string, text: string) =>
        attachFile(
          { client: lab.operator, folders: attachments },
          id,
          { name, bytes: Buffer.from(text) },
          neverAborted,
        );
      const parent = await lab.add("parent");
      const other = await lab.add("other");
      await attach(parent.id, "made by parent.txt", "from the parent\n");
      await attach(other.id, "secret.txt", "of another task\n");
      await lab.operator.complete(parent.id, { summary: "done" }, neverAborted);
      const child = await lab.add("child", { parents: [parent.id] });
      await attach(child.id, "brief.txt", "the brief\n");
      const [own, before] = [`/attachments/${child.id}`, `/attachments/${parent.id}`];
      const command = `cat ${own}/brief.txt '${before}/made by parent.txt' > read.txt
until [ -e ${own}/late.txt ]; do sleep 0.1; done; cat ${own}/late.txt >> read.txt
ls /attachments > folders.txt; touch ${own}/new && echo written > written.txt; true`;
      await lab.addProfile(
        "coder",
        {
          answers: [
            call("terminal", { command }),
            call("kanban_complete", { summary: "done", artifacts: ["read.txt", "folders.txt"] }),
          ],
        },
        { settings: settings() },
      );
      const claimed = await lab.claim(child.id);
      const started = await lab.host.start(claimed, neverAborted);
      if (started.kind === "failed") throw new Error(started.error);
      await eventually(async () => (await sandboxesOf(lab.folder.path)).length > 0);
      await attach(child.id, "late.txt", "attached later\n");
      const ended = await lab.ended(claimed);
      expect(ended, await lab.logOf(claimed)).toMatchObject({ outcome: "completed" });
      const kept = (name: string) => readFile(`${attachments.attachments}/${child.id}/${name}`, "utf8");
      expect(await kept("read.txt")).toBe("the brief\nfrom the parent\nattached later\n");
      expect((await kept("folders.txt")).split("\n").toSorted()).toEqual(
        ["", child.id, parent.id].toSorted(),
      );
      expect(await readdir(`${attachments.attachments}/${child.id}`)).not.toContain("new");
      using sessions = await openSessionStore(
        join(lab.root, "profiles", "coder", "sessions.sqlite"),
        {},
        neverAborted,
      );
      const session = JSON.stringify(sessions.loadSession(ended.session_id ?? "").messages);
      expect(session).toContain(`brief.txt (unknown type, 1 KB): ${own}/brief.txt`);
      expect(session).toContain(`made by parent.txt (unknown type, 1 KB): ${before}/made by parent.txt`);
    },
    LIMIT,
  );

  test(
    "two tasks of one profile at the same time each see their own workspace",
    async () => {
      await using lab = await openLab();
      const inspect = [
        call("terminal", { command: "until [ -e go ]; do sleep 0.1; done; ls > seen.txt" }),
        call("kanban_complete", { summary: "done", artifacts: ["seen.txt"] }),
      ];
      await lab.addProfile("coder", { answers: inspect }, { settings: settings() });
      const claims = [await lab.claim((await lab.add("one")).id), await lab.claim((await lab.add("two")).id)];
      for (const [index, claimed] of claims.entries()) {
        const started = await lab.host.start(claimed, neverAborted);
        if (started.kind === "failed") throw new Error(started.error);
        await writeFile(`${started.workspace}/only-in-${index}`, "");
        await writeFile(`${started.workspace}/go`, "");
      }
      for (const [index, claimed] of claims.entries()) {
        const ended = await lab.ended(claimed);
        expect(ended, await lab.logOf(claimed)).toMatchObject({ outcome: "completed" });
        const { attachments } = await lab.store.show(claimed.task.id, neverAborted);
        const seen = await readFile(attachments[0]?.stored_path ?? "", "utf8");
        expect(seen.split("\n")).toEqual(["go", `only-in-${index}`, "seen.txt", ""]);
      }
      await eventually(async () => (await sandboxesOf(lab.folder.path)).length === 0);
    },
    LIMIT,
  );

  test(
    "a killed worker leaves no sandbox whose commands keep writing to the folder of its task",
    async () => {
      await using lab = await openLab();
      const busy = [call("terminal", { command: "while :; do date +%s%N >> beats; sleep 0.05; done" })];
      await lab.addProfile("coder", { answers: busy }, { settings: settings() });
      const project = lab.folder.file("project");
      await mkdir(project);
      const { id } = await lab.add("busy", { workspaceKind: "dir", workspacePath: project });
      const claimed = await lab.claim(id);
      await lab.host.start(claimed, neverAborted);
      const beats = () => readFile(`${project}/beats`, "utf8").catch(() => "");
      await eventually(async () => (await beats()) !== "");
      const { worker_pid: pid } = await lab.findRun(claimed.run.id);
      process.kill(pid ?? 0, "SIGKILL");
      await eventually(async () => (await lab.findRun(claimed.run.id)).ended_at !== null);
      expect(await sandboxesOf(lab.folder.path)).toEqual([]);
      const last = await beats();
      expect(last).not.toBe("");
      await sleep(300); // long enough for several more writes
      expect(await beats()).toBe(last);
    },
    LIMIT,
  );

  test.each(["dispatch", "gc", "archive 1", "reclaim 1"])(
    "a sandbox whose supervisor and worker were killed is removed by kanban %s",
    async (words) => {
      await using lab = await openLab();
      const busy = [call("terminal", { command: "while :; do date +%s%N >> beats; sleep 0.05; done" })];
      await lab.addProfile("coder", { answers: busy }, { settings: settings() });
      const { id } = await lab.add("busy");
      const { hostId } = await readHostFacts(neverAborted);
      const request = { taskIds: [id], from: "ready", leaseMs: 300_000, hostId } as const;
      const [claimed] = (await lab.system.claim(request, neverAborted)).claimed;
      if (claimed === undefined) throw new Error("not claimed");
      await lab.host.start(claimed, neverAborted);
      await eventually(async () => (await sandboxesOf(lab.folder.path)).length > 0);
      const found = await lab.findRun(claimed.run.id);
      for (const pid of [found.supervisor_pid, found.worker_pid]) process.kill(pid ?? 0, "SIGKILL");
      await eventually(async () => (await lab.processesOf(claimed)).length === 0);
      expect(await sandboxesOf(lab.folder.path)).toHaveLength(1);

      await lab.operator.hold(id, true, neverAborted); // so that no new worker starts
      const [program = "", ...args] = PROGRAM;
      const env = {
        PATH: process.env["PATH"],
        HOME: lab.folder.path,
        HERMES_HOME: lab.root,
        DOCKER_HOST: host,
        HERMES_KANBAN_CRASH_GRACE_SECONDS: "0",
      };
      await run(program, [...args, "kanban", ...words.split(" ")], { env });
      expect(await sandboxesOf(lab.folder.path)).toEqual([]);
    },
    LIMIT,
  );

  test(
    "settings that mount something else at /workspace end the run with that reason",
    async () => {
      await using lab = await openLab();
      const other = lab.folder.file("other");
      await mkdir(other);
      const volumes = `  docker_volumes: ["${other}:/workspace"]\n`;
      await lab.addProfile("coder", { answers: work }, { settings: settings(volumes) });
      const claimed = await lab.claim((await lab.add("elsewhere")).id);
      await lab.host.start(claimed, neverAborted);
      const ended = await lab.ended(claimed);
      expect(ended.outcome).toBe("crashed");
      expect(ended.error).toContain("terminal.docker_volumes mounts");
      expect(await sandboxesOf(lab.folder.path)).toEqual([]);
    },
    LIMIT,
  );
});
