import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { stat } from "node:fs/promises";
import { expect, test } from "vitest";
import { eventually } from "../../../test/support/worker-lab.ts";
import { insideGroup, killGroup, makeRunGroup, pidsIn, removeGroup, removeLeftGroups } from "./run-cgroup.ts";
import { boardMark, runMark } from "./run-mark.ts";

const board = randomBytes(8).toString("hex");
const make = (runId: number) => makeRunGroup(runMark(board, { taskId: "t_1", runId }));
const canMake = await make(0);
if (canMake !== undefined) await removeGroup(canMake);

test.skipIf(canMake === undefined)(
  `groups that killed supervisors left are removed later, those with processes never${canMake === undefined ? " [skipped: may not make a cgroup]" : ""}`,
  async () => {
    const [left, used] = [(await make(1)) ?? "", (await make(2)) ?? ""];
    const [file, ...args] = insideGroup(used, ["sleep", "300"]);
    const child = spawn(file, args, { stdio: "ignore" });
    const exited = once(child, "exit");
    try {
      await eventually(async () => (await pidsIn(used)).length > 0);
      await removeLeftGroups(boardMark(board), Date.now());
      await stat(left); // it may be about to be used
      await removeLeftGroups(boardMark(board), Date.now() + 120_000);
      await expect(stat(left)).rejects.toThrow("ENOENT");
      expect(await pidsIn(used)).toHaveLength(1);
    } finally {
      await killGroup(used);
      await exited;
    }
    await removeLeftGroups(boardMark(board), Date.now() + 120_000);
    await expect(stat(used)).rejects.toThrow("ENOENT");
  },
);
