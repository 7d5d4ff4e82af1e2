import { getEventListeners, setMaxListeners } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
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

test("after a command that used up its channel the next one is opened before it is asked for", async () => {
  const place = localShell();
  await using shell = place.shell;
  await collect(shell, "wc -c", { stdin: LARGE });
  expect(place.opened).toBe(2); // one for the input, one that watches
  await expect.poll(() => place.opened, { timeout: 150_000 }).toBe(3);
  // Once the new one listens, the same again finds both channels ready.
  await expect
    .poll(
      async () => {
        const before = place.opened;
        await collect(shell, "wc -c", { stdin: LARGE });
        return place.opened - before;
      },
      { timeout: 150_000, interval: 500 },
    )
    .toBe(0);
});

test("a channel that nobody has asked for does not have the place looked for anew", async () => {
  const looks: boolean[] = [];
  await using shell = createShell({
    cwd: "/",
    async transport(anew) {
      looks.push(anew);
      // The third would be the spare one: the place has stopped meanwhile.
      return { argv: looks.length === 3 ? ["false"] : ["sh", ...SHELL_ARGUMENTS], env: process.env };
    },
  });
  await collect(shell, "wc -c", { stdin: LARGE });
  await expect.poll(() => looks.length, { timeout: 150_000 }).toBe(3);
  await collect(shell, "wc -c", { stdin: LARGE });
  expect(looks.slice(0, 4)).toEqual([false, false, false, false]);
});

test("whoever ends at once has opened nothing for nothing", async () => {
  const place = localShell();
  {
    await using shell = place.shell;
    await collect(shell, "wc -c", { stdin: LARGE });
  }
  const after = place.opened;
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect([after, place.opened]).toEqual([2, 2]);
});

test("commands that waited for a channel leave nothing on the signal that could have stopped them", async () => {
  await using shell = localShell().shell;
  const { signal } = new AbortController();
  setMaxListeners(0, signal); // a dozen at once may listen
  await Promise.all(Array.from({ length: 12 }, () => collect(shell, "sleep 0.1", { signal })));
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});

test("an answer that comes after nobody waits for it any more does not stand in the output", async () => {
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
  const running = collect(shell, `echo began; until [ -e ${go} ]; do sleep 0.1; done; echo over`, {
    onOutput: (_, bytes) => {
      seen += Buffer.from(bytes).toString();
    },
  });
  await expect.poll(() => seen).toBe("began\n");
  const driver = Number(await readFile(pid, "utf8"));
  process.kill(driver, "SIGSTOP");
  await new Promise((resolve) => setTimeout(resolve, 5_000)); // it is asked after two seconds, and has two to answer
  process.kill(driver, "SIGCONT");
  await writeFile(go, "");
  expect(await running).toMatchObject({ ended: "exited", exitCode: 0 });
  expect(seen).toBe("began\nover\n");
});
