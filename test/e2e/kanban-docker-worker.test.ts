import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { describeWith } from "../support/services.ts";
import { eventually, openWorkerLab } from "../support/worker-lab.ts";

const run = promisify(execFile);
const never = new AbortController().signal;
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
  /** The sandboxes that have something of the folder. */
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
    "works in the folder of its task, hands files over from there, and leaves no sandbox behind",
    async () => {
      await using lab = await openLab();
      await lab.addProfile("coder", { answers: work }, { settings: settings() });
      const project = lab.folder.file("project");
      await mkdir(project);
      await writeFile(`${project}/given.txt`, "given outside\n");
      const claimed = await lab.claim(
        (await lab.add("inside", { workspaceKind: "dir", workspacePath: project })).id,
      );
      expect(await lab.host.start(claimed, never)).toMatchObject({ kind: "started", workspace: project });
      const ended = await lab.ended(claimed);
      expect(ended, await lab.logOf(claimed)).toMatchObject({ outcome: "completed" });
      expect(await readFile(`${project}/where.txt`, "utf8")).toBe("/workspace\ngiven outside\n");
      expect(await readFile(`${project}/root.txt`, "utf8")).toContain(".dockerenv\n");
      expect(await readFile(`${project}/made.txt`, "utf8")).toBe("made inside\n");
      const { attachments } = await lab.store.show(claimed.task.id, never);
      expect(attachments.map(({ filename }) => filename).toSorted()).toEqual(["made.txt", "where.txt"]);
      await eventually(async () => (await sandboxesOf(lab.folder.path)).length === 0);
    },
    LIMIT,
  );

  test(
    "two tasks of one profile at the same time each see their own workspace",
    async () => {
      await using lab = await openLab();
      const look = [
        call("terminal", { command: "until [ -e go ]; do sleep 0.1; done; ls > seen.txt" }),
        call("kanban_complete", { summary: "done", artifacts: ["seen.txt"] }),
      ];
      await lab.addProfile("coder", { answers: look }, { settings: settings() });
      const claims = [await lab.claim((await lab.add("one")).id), await lab.claim((await lab.add("two")).id)];
      for (const [index, claimed] of claims.entries()) {
        const started = await lab.host.start(claimed, never);
        if (started.kind === "failed") throw new Error(started.error);
        await writeFile(`${started.workspace}/only-in-${index}`, "");
        await writeFile(`${started.workspace}/go`, "");
      }
      for (const [index, claimed] of claims.entries()) {
        const ended = await lab.ended(claimed);
        expect(ended, await lab.logOf(claimed)).toMatchObject({ outcome: "completed" });
        const { attachments } = await lab.store.show(claimed.task.id, never);
        const seen = await readFile(attachments[0]?.stored_path ?? "", "utf8");
        expect(seen.split("\n")).toEqual(["go", `only-in-${index}`, "seen.txt", ""]);
      }
      await eventually(async () => (await sandboxesOf(lab.folder.path)).length === 0);
    },
    LIMIT,
  );

  test(
    "settings that put something else at /workspace end the run with that reason",
    async () => {
      await using lab = await openLab();
      const other = lab.folder.file("other");
      await mkdir(other);
      const volumes = `  docker_volumes: ["${other}:/workspace"]\n`;
      await lab.addProfile("coder", { answers: work }, { settings: settings(volumes) });
      const claimed = await lab.claim((await lab.add("elsewhere")).id);
      await lab.host.start(claimed, never);
      const ended = await lab.ended(claimed);
      expect(ended.outcome).toBe("crashed");
      expect(ended.error).toContain("terminal.docker_volumes puts");
      expect(await sandboxesOf(lab.folder.path)).toEqual([]);
    },
    LIMIT,
  );
});
