import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { stat } from "node:fs/promises";
import { expect, test } from "vitest";
import { mayCreateCgroup } from "../../../test/support/cgroup.ts";
import { eventually } from "../../../test/support/worker-lab.ts";
import { boardMark, runMark } from "../worker/run-mark.ts";
import { createRunGroup, insideGroup, killGroup, pidsIn, removeLeftoverGroups } from "./run-cgroup.ts";

const board = randomBytes(8).toString("hex");
const createGroup = (runId: number) => createRunGroup(runMark(board, { taskId: "t_1", runId }));
const canCreateCgroup = await mayCreateCgroup();

test.skipIf(!canCreateCgroup)(
  `leftover cgroups of killed supervisors are removed later, cgroups with processes never${canCreateCgroup ? "" : " [skipped: may not create a cgroup]"}`,
  async () => {
    const [left, used] = [(await createGroup(1)) ?? "", (await createGroup(2)) ?? ""];
    const [file, ...args] = insideGroup(used, ["sleep", "300"]);
    const child = spawn(file, args, { stdio: "ignore" });
    const exited = once(child, "exit");
    try {
      await eventually(async () => (await pidsIn(used)).length > 0);
      await removeLeftoverGroups(boardMark(board), Date.now());
      await stat(left); // a young empty cgroup may be about to be used
      await removeLeftoverGroups(boardMark(board), Date.now() + 120_000);
      await expect(stat(left)).rejects.toThrow("ENOENT");
      expect(await pidsIn(used)).toHaveLength(1);
    } finally {
      await killGroup(used);
      await exited;
    }
    await removeLeftoverGroups(boardMark(board), Date.now() + 120_000);
    await expect(stat(used)).rejects.toThrow("ENOENT");
  },
);
