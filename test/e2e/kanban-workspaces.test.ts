import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { eventually, openWorkerLab } from "../support/worker-lab.ts";

const LONG = 600_000;

type Lab = Awaited<ReturnType<typeof openWorkerLab>>;

const call = (name: string, input: object) => ({ tools: [{ name, input }] });
const complete = (...artifacts: string[]) => call("kanban_complete", { summary: "done", artifacts });
const exists = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  );

async function start(lab: Lab, id: string) {
  const claimed = await lab.claim(id);
  const started = await lab.host.start(claimed, neverAborted);
  if (started.kind === "failed") throw new Error(started.error);
  return { claimed, workspace: started.workspace };
}

test(
  "board A8, G29: after its worker has ended, the scratch folder of a done task is removed and its content is reported",
  async () => {
    await using lab = await openWorkerLab();
    const litter = lab.folder.file("litter.sh");
    await writeFile(litter, "setsid sleep 300 & echo kept > kept.txt; head -c 5000 /dev/zero > left.bin\n");
    const work = call("terminal", { command: `bash ${litter}` });
    await lab.addProfile("coder", { answers: [work, complete("kept.txt")] });
    const { claimed, workspace } = await start(lab, (await lab.add("tidy")).id);
    expect(await lab.ended(claimed)).toMatchObject({ outcome: "completed" });
    await eventually(async () => !(await exists(workspace)));
    expect(await lab.processesOf(claimed)).toEqual([]); // removed only after the last process had exited
    await eventually(async () => (await lab.supervisorsOf(claimed)).length === 0);
    const { attachments, events } = await lab.store.show(claimed.task.id, neverAborted);
    expect(await readFile(attachments[0]?.stored_path ?? "", "utf8")).toBe("kept\n");
    const discarded = events.find(({ kind }) => kind === "workspace_discarded_content")?.payload;
    expect(discarded).toMatchObject({
      file_count: 1,
      total_bytes: 5_000,
      sample: [{ file: "left.bin", bytes: 5_000 }],
    });
    expect(await exists(String(discarded?.["moved_to"]))).toBe(true); // moved aside, not deleted
    expect(await lab.logOf(claimed)).toContain(`the workspace of ${claimed.task.id} was removed with 1 file`);
  },
  LONG,
);

test(
  "board A8: a parent's folder is kept until its child is done, and then removed with the child's folder",
  async () => {
    await using lab = await openWorkerLab();
    await lab.addProfile("coder", { answers: [complete()] });
    const parent = await lab.add("parent");
    const child = await lab.add("child", { parents: [parent.id] });
    const first = await start(lab, parent.id);
    expect(await lab.ended(first.claimed)).toMatchObject({ outcome: "completed" });
    await eventually(async () => (await lab.supervisorsOf(first.claimed)).length === 0);
    expect(await exists(first.workspace)).toBe(true);
    const second = await start(lab, child.id);
    expect(await lab.ended(second.claimed)).toMatchObject({ outcome: "completed" });
    await eventually(async () => (await lab.supervisorsOf(second.claimed)).length === 0);
    expect([await exists(first.workspace), await exists(second.workspace)]).toEqual([false, false]);
  },
  LONG,
);

test(
  "board A8: neither a folder that a user named nor the scratch folder of an unfinished task is removed",
  async () => {
    await using lab = await openWorkerLab();
    await lab.addProfile("coder", { answers: [complete()] });
    await lab.addProfile("stuck", { answers: [call("kanban_block", { reason: "which colour?" })] });
    const project = lab.folder.file("project");
    await mkdir(project);
    const named = await start(
      lab,
      (await lab.add("named", { workspaceKind: "dir", workspacePath: project })).id,
    );
    const open = await start(lab, (await lab.add("open", { assignee: "stuck" })).id);
    expect(await lab.ended(named.claimed)).toMatchObject({ outcome: "completed" });
    expect(await lab.ended(open.claimed)).toMatchObject({ outcome: "blocked" });
    for (const { claimed, workspace } of [named, open]) {
      await eventually(async () => (await lab.supervisorsOf(claimed)).length === 0);
      expect(await exists(workspace)).toBe(true);
    }
  },
  LONG,
);
