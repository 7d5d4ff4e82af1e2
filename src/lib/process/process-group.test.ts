import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { expect, onTestFinished, test } from "vitest";
import { scriptModule } from "../../../test/support/script-module.ts";
import { endProcessGroup } from "./process-group.ts";

const MINUTE = 60_000; // longer than the test's own limit, so that waiting for it fails the test

/** Starts a script in its own process group and returns the first line that it prints. */
async function startGroup(script: string) {
  const child = spawn("sh", ["-c", script], { detached: true, stdio: ["ignore", "pipe", "ignore"] });
  const { pid } = child;
  if (pid === undefined) throw new Error("sh did not start");
  onTestFinished(() => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-pid, "SIGKILL");
  });
  const [line] = await once(child.stdout.setEncoding("utf8"), "data");
  return { child, pid, line: String(line).trim() };
}

async function stateOf(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => ") gone");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[0] ?? "";
}

test("a group that obeys TERM ends without KILL", async () => {
  const { child, pid } = await startGroup("trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done");
  const exit = once(child, "exit");
  expect(await endProcessGroup(pid, MINUTE)).toEqual([]);
  expect(await exit).toEqual([9, null]);
});

test("members that ignore TERM are killed after the grace period, even if their leader has exited", async () => {
  const { child, pid, line } = await startGroup(
    "(trap '' TERM; exec sh -c 'echo $$; while :; do sleep 0.05; done') & exit 0",
  );
  if (child.exitCode === null) await once(child, "exit");
  expect(await endProcessGroup(pid, 50)).toEqual([]);
  expect(await stateOf(Number(line))).toMatch(/^(gone|Z)$/);
});

test("a group that does not exist has already ended", async () => {
  const { child, pid } = await startGroup("echo ready");
  if (child.exitCode === null) await once(child, "exit");
  expect(await endProcessGroup(pid, MINUTE)).toEqual([]);
});

test.skipIf(process.platform !== "linux")("a zombie that no process reaps counts as ended", async () => {
  // `sleep` replaces the shell and never reaps the shell's child.
  const { line } = await startGroup("setsid sh -c 'echo $$; exec sleep 60' & exec sleep 60");
  expect(await endProcessGroup(Number(line), MINUTE)).toEqual([]);
  expect(await stateOf(Number(line))).toBe("Z");
});

test.skipIf(process.getuid?.() !== 0)("processes that we are not allowed to end are returned", async () => {
  const { pid } = await startGroup("echo ready; exec sleep 60");
  const script = `
    import { endProcessGroup } from "${await scriptModule(new URL("./process-group.ts", import.meta.url))}";
    process.setuid(65534);
    console.log(JSON.stringify(await endProcessGroup(${pid}, 10)));`;
  const argv = ["--input-type=module", "--eval", script];
  const child = spawn(process.execPath, argv, { stdio: ["ignore", "pipe", "inherit"] });
  const [output] = await once(child.stdout.setEncoding("utf8"), "data");
  expect(JSON.parse(output)).toEqual([pid]);
});

test.each([1, 0, -5, 1.5, Number.NaN])(
  "%s, which would signal more than one group, is refused",
  async (pid) => {
    await expect(endProcessGroup(pid, 0)).rejects.toThrow(RangeError);
  },
);
