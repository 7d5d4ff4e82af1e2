import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import {
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { describe, expect, test } from "vitest";
import { scale } from "../../../test/support/scale.ts";
import { scriptModule } from "../../../test/support/script-module.ts";
import { AppError } from "../errors.ts";
import { openLogFile } from "../log/log-file.ts";
import { type ProcessOptions, runProcess } from "../process/process.ts";
import { ensurePrivateFile } from "./ensure-private-file.ts";
import { createFileOnce, ensurePrivateFolder, readTextFile, writeFileAtomic } from "./files.ts";

const ENV = { PATH: process.env["PATH"], TSX_DISABLE_CACHE: "1" };
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

describe("writeFileAtomic", () => {
  test("creates a file, replaces it, and leaves nothing else in the folder", async () => {
    await using folder = await tempFolder();
    await writeFileAtomic(folder.at("a"), "one");
    await writeFileAtomic(folder.at("a"), new Uint8Array([0x32]));
    expect(await readFile(folder.at("a"), "utf8")).toBe("2");
    expect(await readdir(folder.path)).toEqual(["a"]);
  });

  test("gives a new file the requested mode, whatever the umask", async () => {
    await using folder = await tempFolder();
    await writeFileAtomic(folder.at("secret"), "", { mode: 0o600 });
    await writeFileAtomic(folder.at("open"), "", { mode: 0o666 });
    expect(await modeOf(folder.at("secret"))).toBe(0o600);
    expect(await modeOf(folder.at("open"))).toBe(0o666);
  });

  test("keeps the mode of an existing file unless another is requested", async () => {
    await using folder = await tempFolder();
    const file = folder.at("a");
    await writeFile(file, "");
    await chmod(file, 0o640);
    await writeFileAtomic(file, "x");
    expect(await modeOf(file)).toBe(0o640);
    await writeFileAtomic(file, "x", { mode: 0o600 });
    expect(await modeOf(file)).toBe(0o600);
  });

  test.skipIf(!isRoot)("keeps the owner of an existing file when root writes it", async () => {
    await using folder = await tempFolder();
    await writeFile(folder.at("a"), "");
    await chown(folder.at("a"), NOBODY, NOBODY);
    await writeFileAtomic(folder.at("a"), "x");
    expect(await stat(folder.at("a"))).toMatchObject({ uid: NOBODY, gid: NOBODY });
  });

  test("writes through a symbolic link and keeps the link", async () => {
    await using folder = await tempFolder();
    await mkdir(folder.at("dotfiles"));
    await writeFile(folder.at("dotfiles/real"), "old");
    await symlink("dotfiles/real", folder.at("inner"));
    await symlink("inner", folder.at("outer"));
    await writeFileAtomic(folder.at("outer"), "new");
    expect(await readFile(folder.at("dotfiles/real"), "utf8")).toBe("new");
    expect((await lstat(folder.at("outer"))).isSymbolicLink()).toBe(true);
    expect((await lstat(folder.at("inner"))).isSymbolicLink()).toBe(true);
  });

  test("creates the file that a dangling link leads to", async () => {
    await using folder = await tempFolder();
    await mkdir(folder.at("dotfiles"));
    await symlink("dotfiles/real", folder.at("link"));
    await writeFileAtomic(folder.at("link"), "new");
    expect(await readFile(folder.at("dotfiles/real"), "utf8")).toBe("new");
  });

  test("reports a missing folder", async () => {
    await using folder = await tempFolder();
    const error = await failureOf(writeFileAtomic(folder.at("gone/a"), ""));
    expect(error).toMatchObject({ code: "file-unwritable", hint: "Create the folder first." });
    expect(error.message).toContain(folder.at("gone/a"));
  });

  test.each(["/dev/null", "."])("refuses to replace %s, which is not a regular file", async (path) => {
    const error = await failureOf(writeFileAtomic(path, "x"));
    expect(error).toMatchObject({
      code: "file-unwritable",
      message: expect.stringMatching(/not a regular file/),
    });
  });

  test("refuses an open descriptor and leaves its file unchanged", async () => {
    await using folder = await tempFolder();
    await writeFile(folder.at("log"), "precious");
    const log = await open(folder.at("log"), "a");
    await symlink(`/dev/fd/${log.fd}`, folder.at("link"));
    for (const path of [`/dev/fd/${log.fd}`, `/proc/self/fd/${log.fd}`, folder.at("link"), "/dev/stdout"])
      expect(await failureOf(writeFileAtomic(path, "x"))).toMatchObject({
        code: "file-unwritable",
        message: expect.stringContaining("it is an open stream"),
      });
    await log.close();
    expect(await readFile(folder.at("log"), "utf8")).toBe("precious");
  });

  test("reports a loop of symbolic links", async () => {
    await using folder = await tempFolder();
    await symlink("b", folder.at("a"));
    await symlink("a", folder.at("b"));
    expect((await failureOf(writeFileAtomic(folder.at("a"), ""))).message).toMatch(/form a loop/);
  });

  test("that fails in the middle keeps the old content and removes its temporary file", async () => {
    await using folder = await tempFolder();
    await writeFile(folder.at("a"), "old");
    const output = await runScript(
      `await failing(writeFileAtomic("a", "x".repeat(5_000_000)))`,
      { cwd: folder.path },
      "trap '' XFSZ; ulimit -f 100;", // writing more than this fails, as on a full disk
    );
    expect(output).toMatchObject({
      code: "file-unwritable",
      message: expect.stringMatching(/limit for file sizes is exceeded/),
    });
    expect(await readFile(folder.at("a"), "utf8")).toBe("old");
    expect(await readdir(folder.path)).toEqual(["a"]);
  });

  test("without permission reports the reason and the path", async () => {
    await using folder = await tempFolder();
    await chmod(folder.path, 0o555);
    const output = await runScript(`dropRoot(); await failing(writeFileAtomic("a", ""))`, {
      cwd: folder.path,
    });
    expect(output).toMatchObject({ code: "file-unwritable", message: "Cannot write a: permission denied." });
  });

  test("killed at any time leaves a complete version, and readers never see anything else", async () => {
    await using folder = await tempFolder();
    const versions = new Set(["a", "b"].map((letter) => letter.repeat(3_000_000)));
    const isComplete = async () => versions.has(await readFile(folder.at("file"), "utf8"));
    await writeFileAtomic(folder.at("file"), "a".repeat(3_000_000));
    for (let round = 0; round < 4; round++) {
      const body = `console.log("writing");
        for (;;) for (const letter of ["a", "b"]) await writeFileAtomic("file", letter.repeat(3_000_000));`;
      const writer = spawn(process.execPath, await scriptArguments(body), {
        cwd: folder.path,
        stdio: ["ignore", "pipe", "ignore"],
      });
      await once(writer.stdout, "data");
      for (let reading = 0; reading < 10 + round; reading++) expect(await isComplete()).toBe(true);
      writer.kill("SIGKILL");
      await once(writer, "exit");
      expect(await isComplete()).toBe(true);
    }
  });
});

describe("createFileOnce", () => {
  test("creates the file with its mode and returns its content", async () => {
    await using folder = await tempFolder();
    expect(await createFileOnce(folder.at("id"), "mine", 0o600)).toBe("mine");
    expect(await modeOf(folder.at("id"))).toBe(0o600);
    expect(await readdir(folder.path)).toEqual(["id"]);
  });

  test("returns the content of an existing file and does not change it", async () => {
    await using folder = await tempFolder();
    await writeFile(folder.at("id"), "theirs");
    expect(await createFileOnce(folder.at("id"), "mine", 0o600)).toBe("theirs");
    expect(await readFile(folder.at("id"), "utf8")).toBe("theirs");
  });

  test("succeeds in one of many processes, and all of them see the complete file", async () => {
    await using folder = await tempFolder();
    const go = folder.at("go");
    let ready = 0;
    const onStderr = () => {
      ready += 1;
      if (ready === scale.processes) writeFileSync(go, "");
    };
    const body = `console.error("ready");
      while (!existsSync("go")) await setTimeout(1);
      console.log(JSON.stringify(await createFileOnce("id", String(process.pid).repeat(100_000), 0o600)));`;
    const contents = await Promise.all(
      Array.from({ length: scale.processes }, () => runScript(body, { cwd: folder.path, onStderr })),
    );
    expect(new Set(contents).size).toBe(1);
    expect(contents[0]).toBe(await readFile(folder.at("id"), "utf8"));
    expect(contents[0]).toMatch(/^(\d+)\1{99999}$/);
    expect((await readdir(folder.path)).sort()).toEqual(["go", "id"]);
  }, 600_000);

  test("works in a read-only folder once the file exists", async () => {
    await using folder = await tempFolder();
    await writeFile(folder.at("id"), "theirs");
    await chmod(folder.path, 0o555);
    const body = `dropRoot(); console.log(JSON.stringify(await createFileOnce("id", "mine", 0o600)))`;
    expect(await runScript(body, { cwd: folder.path })).toBe("theirs");
  });

  test("reports a missing folder", async () => {
    await using folder = await tempFolder();
    const error = await failureOf(createFileOnce(folder.at("gone/id"), "", 0o600));
    expect(error).toMatchObject({ code: "file-unwritable", hint: "Create the folder first." });
  });
});

describe("ensurePrivateFolder", () => {
  test("creates the folder and its parents with access for the owner only", async () => {
    await using folder = await tempFolder();
    await ensurePrivateFolder(folder.at("a/b"));
    expect(await modeOf(folder.at("a"))).toBe(0o700);
    expect(await modeOf(folder.at("a/b"))).toBe(0o700);
  });

  test("does not change an existing folder", async () => {
    await using folder = await tempFolder();
    await chmod(folder.path, 0o750);
    await ensurePrivateFolder(folder.path);
    expect(await modeOf(folder.path)).toBe(0o750);
  });

  test("neither a folder, a database nor a log recreates the home of a named profile", async () => {
    await using folder = await tempFolder();
    const home = folder.at("profiles/work");
    using log = openLogFile(join(home, "logs"), "agent", { maxSizeBytes: 1_000, backupCount: 1 });
    const gone = { code: "home-gone" };
    expect(await failureOf(ensurePrivateFolder(join(home, "sandboxes/a")))).toMatchObject(gone);
    expect(await failureOf(ensurePrivateFile(join(home, "db")))).toMatchObject(gone);
    expect(log.append("line\n")).toBe(false);
    expect(await readdir(folder.path)).toEqual([]);
    await mkdir(home, { recursive: true });
    await ensurePrivateFolder(join(home, "sandboxes/a"));
    expect(log.append("line\n") && log.append("line\n")).toBe(true);
    expect((await readdir(home)).toSorted()).toEqual(["logs", "sandboxes"]);
  });

  test("can be called many times concurrently", async () => {
    await using folder = await tempFolder();
    await Promise.all(Array.from({ length: 20 }, () => ensurePrivateFolder(folder.at("a/b/c"))));
    expect(await readdir(folder.at("a/b"))).toEqual(["c"]);
  });

  test.each(["file", "file/below"])("refuses %s where a file blocks the path", async (path) => {
    await using folder = await tempFolder();
    await writeFile(folder.at("file"), "");
    const error = await failureOf(ensurePrivateFolder(folder.at(path)));
    expect(error).toMatchObject({ code: "home-unusable", message: expect.stringContaining(folder.at(path)) });
  });

  test("refuses a dangling link", async () => {
    await using folder = await tempFolder();
    await symlink("nowhere", folder.at("link"));
    const error = await failureOf(ensurePrivateFolder(folder.at("link")));
    expect(error).toMatchObject({
      code: "home-unusable",
      message: expect.stringMatching(/does not lead to a folder/),
    });
  });

  test.skipIf(process.platform !== "linux")("fails where no folder can be created", async () => {
    expect(await failureOf(ensurePrivateFolder("/proc/none/below"))).toMatchObject({ code: "home-unusable" });
  });

  test("follows a link to a folder and accepts a relative path", async () => {
    await using folder = await tempFolder();
    await symlink(".", folder.at("link"));
    await ensurePrivateFolder(folder.at("link/a/b/"));
    await ensurePrivateFolder(relative(process.cwd(), folder.at("c/d")));
    expect((await readdir(folder.path)).sort()).toEqual(["a", "c", "link"]);
  });

  test("refuses a folder of another user, with the uid and a hint", async () => {
    const output = await runScript(`dropRoot(); await failing(ensurePrivateFolder("/"))`);
    expect(output).toMatchObject({
      code: "home-unusable",
      message: expect.stringMatching(/belongs to .* uid 0/),
    });
    expect(output).toMatchObject({ hint: expect.stringMatching(/sudo chown -R \d+ '\/'/) });
  });

  test("refuses a folder of ours that we cannot write", async () => {
    await using folder = await tempFolder();
    await mkdir(folder.at("locked"), { mode: 0o500 });
    if (isRoot) await chown(folder.at("locked"), NOBODY, NOBODY);
    await chmod(folder.path, 0o755);
    const output = await runScript(`dropRoot(); await failing(ensurePrivateFolder("locked"))`, {
      cwd: folder.path,
    });
    expect(output).toMatchObject({
      code: "home-unusable",
      message: expect.stringMatching(/permission denied/),
    });
  });

  test.skipIf(!isRoot)("lets root use a folder of any user", async () => {
    await using folder = await tempFolder();
    await chown(folder.path, NOBODY, NOBODY);
    await ensurePrivateFolder(folder.path);
    expect(await stat(folder.path)).toMatchObject({ uid: NOBODY });
  });
});

describe("readTextFile", () => {
  const read = async (...content: (string | number[])[]) => {
    await using folder = await tempFolder();
    await writeFile(folder.at("text"), Buffer.concat(content.map((part) => Buffer.from(part as string))));
    return await readTextFile(folder.at("text"));
  };

  test("returns the text unchanged, without a BOM", async () => {
    expect(await read("grüße 🎉\r\n")).toBe("grüße 🎉\r\n");
    expect(await read([0xef, 0xbb, 0xbf], "x: \uFEFF")).toBe("x: \uFEFF");
    expect(await read("")).toBe("");
    expect(await read("\uFFFD")).toBe("\uFFFD");
  });

  test("returns undefined when the file does not exist", async () => {
    await using folder = await tempFolder();
    expect(await readTextFile(folder.at("gone"))).toBeUndefined();
  });

  test("names the line and byte of invalid UTF-8, and a command that converts the file", async () => {
    const error = await failureOf(read("ein \uFFFD\nzwei ü\nd", [0xfc], "rftig\n", [0xe4]));
    expect(error).toMatchObject({
      code: "file-unreadable",
      hint: expect.stringMatching(/iconv -f WINDOWS-1252 -t UTF-8/),
    });
    expect(error.message).toMatch(/line 3 is not UTF-8 \(byte 0xFC at offset 17\)/);
  });

  test.each([
    ["a character that is cut off at the end", [0x61, 0xe2, 0x82], /line 1 .*0xE2 at offset 1/],
    ["an overlong form", [0x61, 0xc0, 0x80], /0xC0 at offset 1/],
    ["half of a surrogate pair", [0x61, 0xed, 0xa0, 0x80], /0xED at offset 1/],
    ["UTF-16, little end first", [0xff, 0xfe, 0x61, 0x00], /it is UTF-16, not UTF-8/],
    ["UTF-16, big end first", [0xfe, 0xff, 0x00, 0x61], /it is UTF-16, not UTF-8/],
    ["UTF-16 without a BOM", [0x61, 0x00, 0x62, 0x00], /it is UTF-16LE, not UTF-8/],
    ["big-endian UTF-16 without a BOM", [0x00, 0x61, 0x00, 0x62], /it is UTF-16BE, not UTF-8/],
    ["UTF-32", [0xff, 0xfe, 0x00, 0x00, 0x61, 0x00, 0x00, 0x00], /it is UTF-32, not UTF-8/],
  ])("refuses %s", async (_, bytes, message) => {
    expect((await failureOf(read(bytes))).message).toMatch(message);
  });

  test("gives a hint that can be pasted, even for a path with special characters", async () => {
    await using folder = await tempFolder();
    await writeFile(folder.at("it's a file"), Buffer.from("ä", "utf16le"));
    const { hint } = await failureOf(readTextFile(folder.at("it's a file")));
    const command = /`(.*)`/.exec(hint)?.[1] ?? "";
    const { exitCode } = await runProcess(["sh", "-c", command], { env: ENV }, new AbortController().signal);
    expect(exitCode).toBe(0);
    expect(await readTextFile(folder.at("it's a file.utf8"))).toBe("ä");
  });

  test("reports that the path is a folder", async () => {
    await using folder = await tempFolder();
    const error = await failureOf(readTextFile(folder.path));
    expect(error).toMatchObject({
      code: "file-unreadable",
      message: expect.stringMatching(/it is a folder/),
    });
  });

  test("reports missing permission", async () => {
    await using folder = await tempFolder();
    await writeFile(folder.at("secret"), "", { mode: 0o000 });
    await chmod(folder.path, 0o755);
    const output = await runScript(`dropRoot(); await failing(readTextFile("secret"))`, { cwd: folder.path });
    expect(output).toMatchObject({
      code: "file-unreadable",
      message: "Cannot read secret: permission denied.",
    });
  });
});

async function tempFolder() {
  const path = await mkdtemp(join(tmpdir(), "files-test-"));
  return {
    path,
    at: (name: string) => join(path, name),
    async [Symbol.asyncDispose]() {
      await chmod(path, 0o700);
      await rm(path, { recursive: true, force: true });
    },
  };
}

async function modeOf(path: string): Promise<number> {
  return (await stat(path)).mode & 0o777;
}

async function failureOf(promise: Promise<unknown>): Promise<AppError> {
  const error: unknown = await promise.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(AppError);
  return error as AppError;
}

/** Node arguments for a script that has our functions, `failing` to print an error, and `dropRoot`. */
async function scriptArguments(body: string): Promise<string[]> {
  const prelude = `
    import { existsSync } from "node:fs";
    import { setTimeout } from "node:timers/promises";
    import { createFileOnce, ensurePrivateFolder, readTextFile, writeFileAtomic } from "${await scriptModule(new URL("./files.ts", import.meta.url))}";
    const failing = (promise) => promise.then(
      () => console.log('"did not fail"'),
      ({ code, message, hint }) => console.log(JSON.stringify({ code, message, hint })));
    const dropRoot = () => process.getuid() === 0 && process.setuid(${NOBODY});`;
  return ["--input-type=module", "--eval", prelude + body];
}

/** Runs a script in its own process, after a shell prelude, and returns the JSON that it printed. */
async function runScript(
  body: string,
  options: Partial<ProcessOptions> = {},
  shellPrelude = "",
): Promise<unknown> {
  const argv = [
    "sh",
    "-c",
    `${shellPrelude} exec "$@"`,
    "sh",
    process.execPath,
    ...(await scriptArguments(body)),
  ] as const;
  const { stdout, stderr } = await runProcess(argv, { env: ENV, ...options }, new AbortController().signal);
  return stdout === "" ? `printed nothing, but on stderr: ${stderr}` : JSON.parse(stdout);
}
