import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { readProcessState } from "../../lib/process/process-state.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { collect } from "../environment.contract.ts";
import { SHELL_ARGUMENTS } from "./driver.ts";
import { createShell } from "./shell.ts";

const LONG = { timeout: 150_000 };

function localShell() {
  return createShell({
    cwd: "/",
    transport: async () => ({ argv: ["sh", ...SHELL_ARGUMENTS], env: process.env }),
  });
}

/** The driver's wrapper and the shell below it that wait for the next command. */
async function findPrepared(driver: number): Promise<{ wrapper: number; shell: number }> {
  const childOf = async (pid: number): Promise<number> => {
    const text = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8").catch(() => "");
    return Number(text.trim().split(" ").at(-1));
  };
  let found = { wrapper: 0, shell: 0 };
  await expect
    .poll(async () => {
      const wrapper = await childOf(driver);
      found = { wrapper, shell: wrapper > 0 ? await childOf(wrapper) : 0 };
      return found.shell;
    }, LONG)
    .toBeGreaterThan(0);
  return found;
}

async function waitUntilEnded(pid: number): Promise<void> {
  await expect.poll(() => readProcessState(pid, neverAborted), LONG).toBe("absent");
}

test("the shell of the next command is forked before the command arrives", async () => {
  await using shell = localShell();
  const driver = Number((await collect(shell, "echo $$")).stdout);
  for (const _ of [1, 2, 3]) {
    const prepared = await findPrepared(driver);
    expect((await collect(shell, "echo $$ $BASHPID")).stdout).toBe(`${driver} ${prepared.shell}\n`);
  }
});

test("a command runs once, in the same channel, even if its prepared shell is killed", async () => {
  await using shell = localShell();
  const driver = Number((await collect(shell, "echo $$")).stdout);
  for (const stdin of [undefined, "input"]) {
    const prepared = await findPrepared(driver);
    process.kill(driver, "SIGSTOP"); // the command is sent, and the driver has not read it yet
    const running = collect(shell, "echo $$; cat; exit 3", { stdin });
    process.kill(prepared.shell, "SIGKILL");
    await waitUntilEnded(prepared.wrapper);
    process.kill(driver, "SIGCONT");
    expect(await running).toMatchObject({
      ended: "exited",
      exitCode: 3,
      stdout: `${driver}\n${stdin ?? ""}`,
      stderr: "",
    });
  }
});

test("a prepared shell ends with its driver", async () => {
  await using shell = localShell();
  const driver = Number((await collect(shell, "echo $$")).stdout);
  const prepared = await findPrepared(driver);
  process.kill(driver, "SIGKILL");
  await waitUntilEnded(prepared.wrapper);
  await waitUntilEnded(prepared.shell);
  // A command that is written before the end of the driver is noticed is lost; the next one gets another driver.
  await expect.poll(async () => (await collect(shell, "echo on")).stdout).toBe("on\n");
});

test("a command that starts hundreds of processes does not use up its channel", async () => {
  await using shell = localShell();
  const { stdout } = await collect(shell, "for i in {1..600}; do (:); done; echo $$");
  await findPrepared(Number(stdout)); // the channel is ready again
  expect((await collect(shell, "echo $$")).stdout).toBe(stdout);
});
