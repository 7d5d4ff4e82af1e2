import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { neverAborted } from "../../../lib/time/never-aborted.ts";
import { createTemporaryName, hasOwnerExited, isTemporaryName } from "./temporary-name.ts";

test("the owner of a temporary name counts as exited only if that is certain", async () => {
  const own = await createTemporaryName(neverAborted);
  expect(isTemporaryName(own)).toBe(true);
  const [host, boot, namespace, pid, start] = [3, 4, 5, 6, 7];
  const changed = (part: number | undefined, other: string) =>
    own
      .split("-")
      .map((text, index) => (index === part ? other : text))
      .join("-");
  for (const name of [
    own,
    changed(host, "00000000"),
    changed(namespace, "00000000"),
    ".hermes-copy-0123456789abcdef",
  ]) {
    expect(await hasOwnerExited(name, neverAborted), name).toBe(false);
  }
  const { pid: ended } = spawnSync("true");
  for (const name of [changed(pid, `${ended}`), changed(boot, "00000000"), changed(start, "30")])
    expect(await hasOwnerExited(name, neverAborted), name).toBe(true);
});
