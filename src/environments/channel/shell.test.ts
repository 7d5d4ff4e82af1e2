import { getEventListeners, setMaxListeners } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test, vi } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { collect } from "../environment.contract.ts";
import { SHELL_ARGUMENTS } from "./driver.ts";
import { createShell } from "./shell.ts";

const LARGE = "x".repeat(100_000);

function localShell() {
  let opened = 0;
  const shell = createShell({
    cwd: "/",
    async transport() {
      opened++;
      return { argv: ["sh", ...SHELL_ARGUMENTS], env: process.env };
    },
  });
  return {
    shell,
    get opened() {
      return opened;
    },
  };
}

test("after a command that used up its channel a spare channel is opened in advance", async () => {
  const local = localShell();
  await using shell = local.shell;
  await collect(shell, "wc -c", { stdin: LARGE });
  expect(local.opened).toBe(2); // one for the input, one as the guard
  await expect.poll(() => local.opened, { timeout: 150_000 }).toBe(3);
  // Once the spare channel is ready, the same command opens no new channel.
  await expect
    .poll(
      async () => {
        const before = local.opened;
        await collect(shell, "wc -c", { stdin: LARGE });
        return local.opened - before;
      },
      { timeout: 150_000, interval: 500 },
    )
    .toBe(0);
});

test("opening a spare channel does not refresh the transport", async () => {
  const refreshes: boolean[] = [];
  await using shell = createShell({
    cwd: "/",
    async transport(refresh) {
      refreshes.push(refresh);
      // The third is the spare channel: the sandbox has stopped meanwhile.
      return { argv: refreshes.length === 3 ? ["false"] : ["sh", ...SHELL_ARGUMENTS], env: process.env };
    },
  });
  await collect(shell, "wc -c", { stdin: LARGE });
  await expect.poll(() => refreshes.length, { timeout: 150_000 }).toBe(3);
  await collect(shell, "wc -c", { stdin: LARGE });
  expect(refreshes.slice(0, 4)).toEqual([false, false, false, false]);
});

test("an environment that is closed right after a command opens no spare channel", async () => {
  const local = localShell();
  {
    await using shell = local.shell;
    await collect(shell, "wc -c", { stdin: LARGE });
  }
  const after = local.opened;
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect([after, local.opened]).toEqual([2, 2]);
});

test("commands that waited for a channel leave no listeners on their signal", async () => {
  await using shell = localShell().shell;
  const { signal } = new AbortController();
  setMaxListeners(0, signal); // a dozen commands listen at once
  await Promise.all(Array.from({ length: 12 }, () => collect(shell, "sleep 0.1", { signal })));
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});

test("a long command adds no listener with each heartbeat", async () => {
  await using folder = await tempFolder();
  const go = folder.file("go");
  await using shell = localShell().shell;
  await collect(shell, "true"); // opens the channel while the timers still run
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => void warnings.push(warning);
  process.prependListener("warning", onWarning); // before the one that fails the run
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  let running: ReturnType<typeof collect> | undefined;
  try {
    let seen = "";
    const onOutput = (_: unknown, bytes: Uint8Array) => {
      seen += Buffer.from(bytes).toString();
    };
    running = collect(shell, `echo started; until [ -e ${go} ]; do sleep 0.1; done`, { onOutput });
    while (seen === "") await new Promise(setImmediate);
    for (let beat = 0; beat < 30; beat++) {
      await vi.advanceTimersByTimeAsync(1_000);
      await new Promise(setImmediate);
    }
  } finally {
    vi.useRealTimers();
    await writeFile(go, "");
    await running;
    process.off("warning", onWarning);
  }
  expect(warnings).toEqual([]);
});

test("input that a command has read is not kept in memory", async () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  const chunks: WeakRef<Uint8Array>[] = [];
  const count = 100;
  const size = 64 * 1024;
  let hasRead = (): void => undefined;
  const read = new Promise<void>((resolve) => {
    hasRead = resolve;
  });
  let kept = count;
  async function* input() {
    for (let index = 0; index < count; index++) {
      chunks.push(new WeakRef(new Uint8Array(size)));
      yield chunks.at(-1)?.deref() ?? new Uint8Array();
    }
    await read;
    await new Promise(setImmediate); // a dereferenced object is kept until the end of its job
    collectGarbage();
    kept = chunks.filter((chunk) => chunk.deref() !== undefined).length;
  }
  await using shell = localShell().shell;
  const command = `head -c ${count * size} >/dev/null; echo read; cat`;
  const run = await collect(shell, command, { stdin: input(), onOutput: () => hasRead() });
  expect(run).toMatchObject({ ended: "exited", exitCode: 0 });
  expect(kept).toBeLessThan(10);
});

test("an answer that arrives after its request was abandoned is not part of the output", async () => {
  await using folder = await tempFolder();
  const [pid, go] = [folder.file("pid"), folder.file("go")];
  await using shell = createShell({
    cwd: "/",
    transport: async () => ({
      argv: ["sh", "-c", `echo $$ > ${pid}; exec sh -s hermes-channel`],
      env: process.env,
    }),
  });
  let seen = "";
  const running = collect(shell, `echo started; until [ -e ${go} ]; do sleep 0.1; done; echo ended`, {
    onOutput: (_, bytes) => {
      seen += Buffer.from(bytes).toString();
    },
  });
  await expect.poll(() => seen).toBe("started\n");
  const driver = Number(await readFile(pid, "utf8"));
  process.kill(driver, "SIGSTOP");
  await new Promise((resolve) => setTimeout(resolve, 5_000)); // the driver is polled after two seconds and has two seconds to answer
  process.kill(driver, "SIGCONT");
  await writeFile(go, "");
  expect(await running).toMatchObject({ ended: "exited", exitCode: 0 });
  expect(seen).toBe("started\nended\n");
});
