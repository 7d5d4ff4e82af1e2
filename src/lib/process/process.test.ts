import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { getEventListeners } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { longEnough } from "../../../test/support/long-enough.ts";
import { AppError } from "../errors.ts";
import { neverAborted } from "../time/never-aborted.ts";
import { type ProcessOptions, runProcess } from "./process.ts";

const env = { PATH: process.env["PATH"] };
const MINUTE = 60_000; // longer than the test's own limit, so that waiting for it fails the test

const shell = (script: string, options: Partial<ProcessOptions> = {}, signal = neverAborted) =>
  runProcess(["sh", "-c", script], { env, ...options }, signal);
const node = (script: string, options: Partial<ProcessOptions> = {}, signal = neverAborted) =>
  runProcess([process.execPath, "-e", script], { env, ...options }, signal);

describe("a program that ends by itself", () => {
  test("returns its exit code, stdout and stderr separately", async () => {
    const result = await shell("echo out; echo err >&2; exit 3");
    expect(result).toMatchObject({ exitCode: 3, signal: null, stdout: "out\n", stderr: "err\n" });
    expect(result).toMatchObject({ truncated: false, timedOut: false, survivors: [] });
  });

  test("names the signal that ended it", async () => {
    expect(await shell("kill -s USR1 $$")).toMatchObject({ exitCode: null, signal: "SIGUSR1" });
  });

  test("gets its arguments unchanged, because no shell is involved", async () => {
    const word = `$HOME; echo "*" \`id\` '`;
    const { stdout } = await runProcess(
      [process.execPath, "-p", "process.argv[1]", word],
      { env },
      neverAborted,
    );
    expect(stdout).toBe(`${word}\n`);
  });

  test("has the given environment and inherits nothing", async () => {
    const { stdout } = await node("console.log(JSON.stringify(process.env))", { env: { ONLY: "this" } });
    expect(JSON.parse(stdout)).toEqual({ ONLY: "this" });
  });

  test("runs in the given folder", async () => {
    await using folder = await tempFolder();
    const { stdout } = await node("console.log(require('node:fs').realpathSync('.'))", { cwd: folder.path });
    expect(stdout.trim()).toMatch(new RegExp(`${folder.name}$`));
  });

  test("reads the given stdin, or end of file when none is given", async () => {
    expect((await shell("cat", { stdin: "grüße" })).stdout).toBe("grüße");
    expect((await shell("cat", { stdin: new Uint8Array([0x61, 0x0a]) })).stdout).toBe("a\n");
    expect((await shell("cat")).stdout).toBe("");
  });

  test("may leave a stdin larger than any pipe unread", async () => {
    const stdin = Buffer.alloc(20_000_000, "x");
    expect(await shell("exit 4", { stdin })).toMatchObject({ exitCode: 4 });
    expect(await shell("exec <&-; sleep 0.2; exit 5", { stdin })).toMatchObject({ exitCode: 5 });
  });

  test("has invalid UTF-8 replaced, but not a character that is split between two chunks", async () => {
    expect((await shell("printf 'a\\377b\\303'; sleep 0.2; printf '\\274'")).stdout).toBe("a\uFFFDbü");
  });
});

describe("a lot of output", () => {
  test("is truncated at the limit while the program runs to its end", async () => {
    let seen = 0;
    const onStdout = (chunk: Uint8Array) => {
      seen += chunk.length;
    };
    const result = await node(
      "const mb = 'x'.repeat(1e6); let n = 0; (function f() { if (n++ < 50) process.stdout.write(mb, f); })()",
      { maxOutputBytes: 100_000, onStdout },
    );
    expect(result).toMatchObject({ exitCode: 0, truncated: true });
    expect(result.stdout).toHaveLength(100_000);
    expect(seen).toBe(50_000_000);
  });

  test("on stderr does not count towards the limit of stdout", async () => {
    const result = await shell("printf 123456789 >&2; printf 12345", { maxOutputBytes: 5 });
    expect(result).toMatchObject({ stdout: "12345", stderr: "12345", truncated: true });
  });

  test("that fits exactly is not reported as truncated", async () => {
    expect(await shell("printf 12345", { maxOutputBytes: 5 })).toMatchObject({
      stdout: "12345",
      truncated: false,
    });
  });

  test("is not truncated in the middle of a character", async () => {
    expect((await shell("printf 'ééé'", { maxOutputBytes: 3 })).stdout).toBe("é");
  });
});

describe("children that hold the pipes after the program has ended", () => {
  test("are not waited for and keep running", async () => {
    const { exitCode, stdout } = await shell("sleep 60 & echo $!; exit 2");
    const pid = Number(stdout);
    onTestFinished(() => void process.kill(pid, "SIGKILL"));
    expect(exitCode).toBe(2);
    expect(await isRunning(pid)).toBe(true);
  });

  test("are not read forever when they keep writing", async () => {
    const { exitCode, stdout } = await shell("(while echo x; do sleep 0.02; done) & echo $!; exit 2");
    expect(exitCode).toBe(2);
    const pid = Number(stdout.replaceAll("x", ""));
    await vi.waitUntil(async () => !(await isRunning(pid)), { timeout: 150_000 }); // its pipe has no reader any more
  });

  test("do not hide output that was printed while our event loop was blocked", async () => {
    const script = "sleep 60 & echo $!; head -c 100000 /dev/zero; exit 0";
    const running = shell(script);
    const busyUntil = performance.now() + 700;
    while (performance.now() < busyUntil) process.hrtime(); // blocks the event loop, so that it handles neither output nor exit
    const { stdout } = await running;
    process.kill(Number.parseInt(stdout, 10), "SIGKILL");
    expect(stdout.replaceAll("\0", "")).toMatch(/^\d+\n$/);
    expect(stdout.match(/\0/g)).toHaveLength(100_000);
  });
});

describe("a timeout", () => {
  /** Times out only after the script has printed its first line. */
  const timedOut = (script: string, graceMs: number, first = /^\d+\n/) =>
    longEnough(
      [1_000, 20_000, 60_000],
      (timeoutMs) => shell(script, { timeoutMs, graceMs }),
      ({ stdout }) => first.test(stdout),
    );

  test("lets the program handle TERM", async () => {
    const script = "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.05; done";
    const result = await timedOut(script, MINUTE, /^ready\n/);
    expect(result).toMatchObject({ exitCode: 7, timedOut: true, survivors: [] });
    expect(result.stdout).toBe("ready\nbye\n");
  });

  test("kills a program and a grandchild that ignore TERM", async () => {
    const script = "trap '' TERM; (while :; do sleep 1; done) & echo $!; while :; do sleep 1; done";
    const result = await timedOut(script, 100);
    expect(result).toMatchObject({ exitCode: null, signal: "SIGKILL", timedOut: true, survivors: [] });
    expect(await isRunning(Number(result.stdout))).toBe(false);
  });

  test("ends a grandchild that ignores TERM while its parent obeys", async () => {
    const script = "sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; done' & sleep 600";
    const result = await timedOut(script, 100);
    expect(result).toMatchObject({ signal: "SIGTERM", timedOut: true, survivors: [] });
    expect(await isRunning(Number(result.stdout))).toBe(false);
  });

  test("ends a program that never reads its stdin", async () => {
    const result = await shell("sleep 60", { stdin: Buffer.alloc(5_000_000), timeoutMs: 100 });
    expect(result).toMatchObject({ signal: "SIGTERM", timedOut: true });
  });

  test.runIf(process.platform === "linux")(
    "does not apply when the program ended in time while our event loop was blocked",
    async () => {
      await using folder = await tempFolder();
      const running = shell("echo $$ > pid; exit 3", { cwd: folder.path, timeoutMs: 300 });
      await new Promise((resolve) => setImmediate(resolve)); // the timeout is running from here on
      const busyUntil = performance.now() + 500;
      while (performance.now() < busyUntil || !hasEnded(join(folder.path, "pid"))) process.hrtime();
      expect(await running).toMatchObject({ exitCode: 3, timedOut: false });
    },
  );

  test("longer than the maximum timer does not fire immediately", async () => {
    expect(await shell("sleep 0.2", { timeoutMs: Number.MAX_SAFE_INTEGER })).toMatchObject({
      timedOut: false,
    });
  });
});

describe("an abort", () => {
  test("before the start rejects with its reason and starts nothing", async () => {
    await using folder = await tempFolder();
    const reason = new Error("too early");
    await expect(shell("touch started", { cwd: folder.path }, AbortSignal.abort(reason))).rejects.toBe(
      reason,
    );
    await expect(readFile(join(folder.path, "started"))).rejects.toThrow(/ENOENT/);
  });

  test("in the middle rejects with its reason after the whole group has ended", async () => {
    const abort = new AbortController();
    const reason = new Error("changed my mind");
    let output = "";
    const onStdout = (chunk: Uint8Array) => {
      output += Buffer.from(chunk);
      if (output.endsWith("\n")) abort.abort(reason);
    };
    const script = "trap '' TERM; (while :; do sleep 1; done) & echo $!; while :; do sleep 1; done";
    await expect(shell(script, { onStdout, graceMs: 100 }, abort.signal)).rejects.toBe(reason);
    expect(await isRunning(Number(output))).toBe(false);
  });

  test("during the start is not missed", async () => {
    const abort = new AbortController();
    const running = shell("sleep 60", {}, abort.signal);
    abort.abort(new Error("at once"));
    await expect(running).rejects.toThrow("at once");
  });

  test("while only a grandchild still writes ends that grandchild", async () => {
    const abort = new AbortController();
    await using folder = await tempFolder();
    let output = "";
    const onStdout = (chunk: Uint8Array) => {
      output += Buffer.from(chunk);
      const [pid] = output.split("\n");
      if (abort.signal.aborted || !output.includes("x")) return;
      // Blocks until the program has exited, so that no timer of ours runs out before the abort on a busy machine.
      while (
        spawnSync("ps", ["-o", "stat=", "-p", `${pid}`], { encoding: "utf8" })
          .stdout.trim()
          .at(0) !== "Z"
      );
      abort.abort(new Error("enough"));
    };
    // The program exits once the grandchild has written.
    const script = "echo $$; (while echo x; do : >written; done) & echo $!; until [ -e written ]; do :; done";
    const running = shell(script, { onStdout, cwd: folder.path }, abort.signal);
    await expect(running).rejects.toThrow("enough");
    const [, grandchild] = output.match(/\d+/g) ?? [];
    expect(await isRunning(Number(grandchild))).toBe(false);
  });

  test("that comes after the end changes nothing and leaves no listener", async () => {
    const abort = new AbortController();
    const result = await shell("exit 0", {}, abort.signal);
    expect(getEventListeners(abort.signal, "abort")).toEqual([]);
    abort.abort();
    expect(result.exitCode).toBe(0);
  });
});

test("a listener that throws ends the program, and the call rejects with its error", async () => {
  const failure = new Error("listener broke");
  const onStdout = () => {
    throw failure;
  };
  await expect(shell("echo x; sleep 60", { onStdout })).rejects.toBe(failure);
});

describe("a program that cannot start", () => {
  const failureOf = async (argv: readonly [string, ...string[]], options: Partial<ProcessOptions> = {}) => {
    const error: unknown = await runProcess(argv, { env, ...options }, neverAborted).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(AppError);
    return error as AppError;
  };

  test("is named, with a hint, when it does not exist", async () => {
    await using folder = await tempFolder(); // the PATH of the user may have folders that only others can read
    const error = await failureOf(["no-such-program"], { env: { PATH: folder.path } });
    expect(error).toMatchObject({ code: "process-unstartable", hint: expect.stringMatching(/PATH/) });
    expect(error.message).toMatch(/^Cannot start no-such-program: program not found/);
  });

  test("is reported as not found when the file on PATH may not be run", async () => {
    await using folder = await tempFolder();
    await writeFile(join(folder.path, "plain"), "text", { mode: 0o600 });
    expect(await failureOf(["plain"], { env: { PATH: folder.path } })).toMatchObject({
      message: "Cannot start plain: no executable of that name was found on the PATH.",
      hint: expect.stringMatching(/PATH/),
    });
  });

  test("is named when it is not executable", async () => {
    await using folder = await tempFolder();
    const program = join(folder.path, "plain");
    await writeFile(program, "text");
    await chmod(program, 0o644);
    expect((await failureOf([program])).message).toMatch(/plain: it is not an executable file/);
  });

  test("is distinguished from a working folder that does not exist or is a file", async () => {
    await using folder = await tempFolder();
    const file = join(folder.path, "file");
    await writeFile(file, "");
    expect((await failureOf(["sh"], { cwd: join(folder.path, "gone") })).message).toMatch(/gone.*\(ENOENT\)/);
    expect((await failureOf(["sh"], { cwd: file })).message).toMatch(/file.*\(ENOTDIR\)/);
  });

  test.each([
    ["a missing program", ["no-such-program", "secret"]],
    ["a null byte", ["sh", "secret\0"]],
    ["too many words", ["sh", `secret${"x".repeat(4_000_000)}`]],
  ] as const)("never shows its arguments: %s", async (_, argv) => {
    expect(inspect(await failureOf(argv), { depth: null, showHidden: true })).not.toContain("secret");
  });
});

async function tempFolder() {
  const name = `process-test-${randomUUID()}`;
  const path = await mkdtemp(join(tmpdir(), name));
  return {
    path,
    name: path.slice(path.indexOf(name)),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}

/** Whether the program that wrote its pid to `file` is a zombie, which it is until our event loop runs again. */
function hasEnded(file: string): boolean {
  const pid = existsSync(file) ? readFileSync(file, "utf8").trim() : "";
  return pid !== "" && / Z /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
}

/** A zombie no longer runs, although it can be signalled until it is reaped. */
async function isRunning(pid: number): Promise<boolean> {
  expect(pid).toBeGreaterThan(1);
  const argv = ["sh", "-c", 'cat "/proc/$0/stat" || ps -o state= -p "$0"', String(pid)] as const;
  const { stdout } = await runProcess(argv, { env }, neverAborted);
  return /^[^ZX]/.test(stdout.slice(stdout.lastIndexOf(")") + 1).trim());
}
