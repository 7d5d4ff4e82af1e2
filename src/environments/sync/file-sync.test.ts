import { createHash, randomBytes } from "node:crypto";
import {
  lstat,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { TurnableClock } from "../../../test/support/turnable-clock.ts";
import type { CommandRequest, Environment } from "../environment.ts";
import { openLocalEnvironment } from "../local/local-environment.ts";
import { terminalOptions } from "../options.ts";
import { createFileSync, type FileSyncParts } from "./file-sync.ts";
import { DIRTY_HEAD } from "./manifest.ts";
import type { OfferedFile } from "./offered-file.ts";

const TOOLS = "awk cat cmp cp find grep flock ln mkdir mv readlink rm rmdir sh sleep tail tar bash".split(
  " ",
);

/** A separate target folder on this machine, and host files to sync into it. */
async function openLab({
  without = [],
  slow = [],
}: {
  without?: readonly string[];
  slow?: readonly string[];
} = {}) {
  const temp = await tempFolder();
  const home = temp.file("target");
  const bin = temp.file("bin");
  await mkdir(home);
  await mkdir(temp.file("host"));
  await mkdir(bin);
  for (const tool of TOOLS) {
    const path = join(bin, tool);
    if (slow.includes(tool)) {
      await writeFile(path, `#!/bin/sh\nsleep 0.2\nexec /usr/bin/${tool} "$@"\n`, { mode: 0o755 });
    } else if (!without.includes(tool)) await symlink(`/usr/bin/${tool}`, path);
  }
  const clock = new TurnableClock();
  const never = new AbortController().signal;
  const offered = new Map<string, OfferedFile>();
  const base = join(home, ".hermes");

  async function offer(targetPath: string, content: string | Uint8Array, mode = 0o644): Promise<string> {
    const hostPath = temp.file(`host/${createHash("sha256").update(targetPath).digest("hex")}`);
    await writeFile(hostPath, content);
    offered.set(targetPath, { hostPath, targetPath, mode });
    return hostPath;
  }

  async function open(overrides: Partial<FileSyncParts> = {}) {
    const environment = await openLocalEnvironment({
      options: terminalOptions.parse({ shell_init_files: ["/dev/null"] }),
      variables: { PATH: process.env["PATH"], HOME: home },
      profileHome: home,
      cwd: home,
    });
    const runs: CommandRequest[] = [];
    const warnings: string[] = [];
    let before: (request: CommandRequest) => Promise<CommandRequest> | CommandRequest = (request) => request;
    const between: Pick<Environment, "openSession" | "run"> = {
      openSession: () => environment.openSession(),
      async run(request, signal) {
        runs.push(request);
        return environment.run({ ...(await before(request)), variables: { PATH: bin } }, signal);
      },
    };
    const sync = createFileSync({
      environment: between,
      owner: "a",
      list: async () => ({ files: [...offered.values()], problems: [] }),
      onWarning: (text) => void warnings.push(text),
      clock,
      ...overrides,
    });
    return {
      runs,
      warnings,
      /** Called before each command in the environment. */
      intercept(by: typeof before) {
        before = by;
      },
      async sync(): Promise<number> {
        await clock.advance(5_000);
        runs.length = 0;
        await sync.beforeCommand(never);
        return runs.length;
      },
      beforeCommand: (signal = never) => sync.beforeCommand(signal),
      [Symbol.asyncDispose]: () => environment[Symbol.asyncDispose](),
    };
  }

  return {
    offered,
    offer,
    open,
    base,
    bin,
    home,
    clock,
    readTarget: (path: string) => readFile(join(base, path), "utf8"),
    async targetFiles() {
      const found = await readdir(base, { recursive: true, withFileTypes: true });
      return found
        .filter((entry) => !entry.isDirectory())
        .map((entry) => join(entry.parentPath, entry.name).slice(base.length + 1))
        .filter((path) => !path.startsWith(".hermes-sync/"))
        .sort();
    },
    stages: async () =>
      (await readdir(join(base, ".hermes-sync"))).filter((name) => name.startsWith("stage-")),
    [Symbol.asyncDispose]: () => temp[Symbol.asyncDispose](),
  };
}

test("E9: the environment gets the offered files with bytes and modes, and loses files that are no longer offered", async () => {
  await using lab = await openLab();
  await using side = await lab.open();
  const odd = `skills/a b/${"long".repeat(40)}/it's "$x" \\ ü 漢 .md `;
  const bytes = randomBytes(70_000);
  await lab.offer("credentials/token", "secret", 0o600);
  await lab.offer("skills/run.sh", "#!/bin/sh\n", 0o755);
  await lab.offer("empty", "");
  await lab.offer(odd, "odd");
  await lab.offer("image", bytes);
  await side.sync();
  expect(await lab.targetFiles()).toEqual(
    ["credentials/token", "empty", "image", odd, "skills/run.sh"].sort(),
  );
  expect(await readFile(join(lab.base, "image"))).toEqual(bytes);
  expect(await lab.readTarget(odd)).toBe("odd");
  const modeOf = async (path: string) => ((await stat(join(lab.base, path))).mode & 0o777).toString(8);
  expect(await modeOf("credentials/token")).toBe("600");
  expect(await modeOf("skills/run.sh")).toBe("755");
  expect(await modeOf("")).toBe("700");

  lab.offered.delete(odd);
  lab.offered.delete("credentials/token");
  await lab.offer("empty", "not any more", 0o640);
  await side.sync();
  expect(await lab.targetFiles()).toEqual(["empty", "image", "skills/run.sh"]);
  expect(await readdir(lab.base)).not.toContain("credentials");
  expect(await lab.readTarget("empty")).toBe("not any more");
  expect(await modeOf("empty")).toBe("640");
  expect(await lab.stages()).toEqual([]);
  expect(side.warnings).toEqual([]);
});

test("E9: unchanged files cost one short command, at most every five seconds, and a new process copies nothing", async () => {
  await using lab = await openLab();
  await using side = await lab.open();
  await lab.offer("a", "1");
  expect(await side.sync()).toBe(2);
  expect(await side.sync()).toBe(1);
  expect(side.runs[0]?.stdin).toBeUndefined();
  side.runs.length = 0;
  await lab.offer("b", "2");
  await side.beforeCommand();
  expect(side.runs).toEqual([]);
  expect(await side.sync()).toBe(2);
  await using fresh = await lab.open();
  expect(await fresh.sync()).toBe(1);
  await using forced = await lab.open({ everyMs: 0 });
  await forced.beforeCommand();
  await forced.beforeCommand();
  expect(forced.runs).toHaveLength(2);
});

test("E9: with no files to offer, the environment is checked once, so that previously offered files are removed", async () => {
  await using lab = await openLab();
  await lab.offer("a", "1");
  {
    await using side = await lab.open();
    await side.sync();
  }
  lab.offered.clear();
  await using side = await lab.open();
  expect(await side.sync()).toBe(2);
  expect(await lab.targetFiles()).toEqual([]);
  expect(await side.sync()).toBe(0);
  await lab.offer("a", "2");
  expect(await side.sync()).toBe(2);
  expect(await lab.readTarget("a")).toBe("2");
});

test("E9: only changed files are sent, and a file with unchanged time and size is not even read", async () => {
  await using lab = await openLab();
  await using side = await lab.open();
  const path = await lab.offer("a", "first");
  await lab.offer("b", "stays");
  await utimes(path, 1_000, 1_000);
  await side.sync();
  const kept = (await stat(join(lab.base, "b"))).ino;
  await writeFile(path, "other");
  await utimes(path, 1_000, 1_000);
  expect(await side.sync()).toBe(1);
  expect(await lab.readTarget("a")).toBe("first");
  await utimes(path, 2_000, 2_000);
  expect(await side.sync()).toBe(2);
  expect(await lab.readTarget("a")).toBe("other");
  expect((await stat(join(lab.base, "b"))).ino).toBe(kept);
});

test("E8, E9: names that lead out of the base, links and duplicates are skipped and reported once; the other files arrive", async () => {
  await using lab = await openLab();
  await using side = await lab.open();
  const hostPath = await lab.offer("good", "1");
  const bad = [
    "../out",
    "/etc/out",
    "a/../../out",
    "a//b",
    "new\nline",
    ".hermes-sync/a.manifest",
    "",
    "nul\0",
  ];
  for (const targetPath of bad) lab.offered.set(targetPath, { hostPath, targetPath, mode: 0o600 });
  const link = `${hostPath}-link`;
  await symlink(hostPath, link);
  lab.offered.set("link", { hostPath: link, targetPath: "link", mode: 0o600 });
  lab.offered.set("double", { hostPath, targetPath: "good", mode: 0o600 });
  await side.sync();
  expect(await lab.targetFiles()).toEqual(["good"]);
  expect(await readdir(lab.home)).toEqual([".hermes"]);
  expect(side.warnings).toHaveLength(1);
  for (const targetPath of [...bad, "link", "good"]) {
    expect(side.warnings[0]).toContain(`${JSON.stringify(targetPath)} is not copied`);
  }
  await side.sync();
  expect(side.warnings).toHaveLength(1);
});

test("E9: a link in the base is not followed: nothing is written or removed through it, and nothing else changes", async () => {
  await using lab = await openLab();
  await using side = await lab.open();
  await lab.offer("a", "1");
  await lab.offer("sub/b", "1");
  await side.sync();
  const outside = join(lab.home, "outside");
  await rename(join(lab.base, "sub"), outside);
  await symlink(outside, join(lab.base, "sub"));
  await lab.offer("a", "2");
  await lab.offer("sub/b", "2");
  await side.sync();
  expect(await readFile(join(outside, "b"), "utf8")).toBe("1");
  expect(await lab.readTarget("a")).toBe("1");
  expect(side.warnings.join()).toMatch(/its files are unchanged: .*sub is a symbolic link/);
  lab.offered.delete("sub/b");
  await side.sync();
  expect(await readFile(join(outside, "b"), "utf8")).toBe("1");
  expect(await lab.readTarget("a")).toBe("2");
});

test("E9: a file that cannot be written reverts all others, the command still runs, and the next sync repairs it", async () => {
  await using lab = await openLab();
  await using side = await lab.open();
  for (const name of ["a", "b", "gone", "z"]) await lab.offer(name, "old");
  await side.sync();
  await rm(join(lab.base, "b"));
  await symlink("/dev/null", join(lab.base, "b"));
  await mkdir(join(lab.base, "new"));
  for (const name of ["a", "b", "added", "new", "z"]) await lab.offer(name, "new");
  lab.offered.delete("gone");
  const manifest = await lab.readTarget(".hermes-sync/a.manifest");
  await side.sync();
  expect(side.warnings).toEqual([expect.stringContaining("new is a folder")]);
  expect(await lab.readTarget("a")).toBe("old");
  expect(await lab.readTarget("gone")).toBe("old");
  expect((await lstat(join(lab.base, "b"))).isSymbolicLink()).toBe(true);
  expect(await readdir(lab.base)).not.toContain("added");
  expect(await lab.readTarget(".hermes-sync/a.manifest")).toBe(manifest);
  expect(await lab.stages()).toEqual([]);
  await rm(join(lab.base, "new"), { recursive: true });
  await side.sync();
  expect(await lab.targetFiles()).toEqual(["a", "added", "b", "new", "z"]);
  for (const name of await lab.targetFiles()) expect(await lab.readTarget(name)).toBe("new");
  expect(side.warnings).toHaveLength(1);
});

test("E9: the state of an interrupted sync is not trusted, and none of its files is forgotten", async () => {
  await using lab = await openLab();
  await using side = await lab.open();
  for (const name of ["a", "b", "c"]) await lab.offer(name, "1");
  await side.sync();
  const dying = `#!/bin/sh\ncase $3 in */.hermes/b) kill -9 $PPID ;; esac\nexec /usr/bin/mv "$@"\n`;
  await rm(join(lab.bin, "mv"));
  await writeFile(join(lab.bin, "mv"), dying, { mode: 0o755 });
  for (const name of ["a", "b", "new"]) await lab.offer(name, "2");
  lab.offered.delete("c");
  await side.sync();
  expect(side.warnings).toHaveLength(1);
  expect(await lab.readTarget(".hermes-sync/a.manifest")).toMatch(new RegExp(`^${DIRTY_HEAD}\n`));
  await rm(join(lab.bin, "mv"));
  await symlink("/usr/bin/mv", join(lab.bin, "mv"));
  lab.offered.delete("new");
  await lab.offer("a", "1"); // the content before the interruption, which the target no longer has
  await side.sync();
  expect(await lab.targetFiles()).toEqual(["a", "b"]);
  expect(await lab.readTarget("a")).toBe("1");
  expect(await lab.readTarget("b")).toBe("2");
  expect(await side.sync()).toBe(1);
});

test("E9: a truncated archive, or a file that changes while it is copied, changes nothing", async () => {
  await using lab = await openLab();
  await using side = await lab.open();
  await lab.offer("a", "old");
  await side.sync();
  const path = await lab.offer("a", "new");
  const big = await lab.offer("b", randomBytes(100_000));
  side.intercept((request) => ({ ...request, stdin: request.stdin && cutOff(request.stdin) }));
  await side.sync();
  expect(await lab.targetFiles()).toEqual(["a"]);
  expect(await lab.readTarget("a")).toBe("old");
  expect(side.warnings).toHaveLength(1);
  side.intercept(async (request) => {
    if (request.stdin) await writeFile(path, "odd");
    return request;
  });
  await side.sync();
  expect(await lab.readTarget("a")).toBe("old");
  expect(side.warnings[1]).toContain("changed while it was copied");
  side.intercept((request) => request);
  await side.sync();
  expect(await lab.readTarget("a")).toBe("odd");
  expect(await readFile(join(lab.base, "b"))).toEqual(await readFile(big));
});

async function* cutOff(stdin: NonNullable<CommandRequest["stdin"]>): AsyncIterable<Uint8Array> {
  let left = 60_000;
  for await (const chunk of stdin as AsyncIterable<Uint8Array>) {
    yield chunk.subarray(0, left);
    left -= chunk.length;
    if (left <= 0) return;
  }
}

test.each([[[]], [["flock"]]])(
  "E9: processes that sync concurrently leave the complete state of one of them (an environment without %j)",
  async (without) => {
    await using lab = await openLab({ without, slow: ["tail"] }); // slow enough for others to interleave
    const names = Array.from({ length: 20 }, (_, index) => `d${index % 3}/f${index}`);
    const versions: OfferedFile[][] = [];
    for (const version of ["one", "two", "three"]) {
      const files: OfferedFile[] = [];
      for (const name of names) {
        const hostPath = await lab.offer(`${version}/${name}`, version);
        files.push({ hostPath, targetPath: name, mode: 0o644 });
      }
      const hostPath = await lab.offer(`${version}/own`, version);
      files.push({ hostPath, targetPath: `only-${version}`, mode: 0o644 });
      versions.push(files);
    }
    for (let round = 0; round < 3; round++) {
      const sides = await Promise.all(
        versions.map((files) => lab.open({ list: async () => ({ files, problems: [] }) })),
      );
      await Promise.all(sides.map((side) => side.sync()));
      const contents = new Set(await Promise.all(names.map((name) => lab.readTarget(name))));
      const [winner] = contents;
      expect(contents.size).toBe(1);
      expect(await lab.targetFiles()).toEqual([...names, `only-${winner}`].sort());
      const own = sides[["one", "two", "three"].indexOf(winner ?? "")];
      expect(await own?.sync()).toBe(1);
      await Promise.all(sides.map((side) => side[Symbol.asyncDispose]()));
    }
    expect(await lab.stages()).toEqual([]);
  },
);

test("E9: two owners do not touch each other's files, and an owner that shares a name gets its own file again", async () => {
  await using lab = await openLab();
  const listOf = async (names: Record<string, string>) => {
    const files: OfferedFile[] = [];
    for (const [targetPath, content] of Object.entries(names)) {
      const hostPath = await lab.offer(`${randomBytes(4).toString("hex")}`, content);
      files.push({ hostPath, targetPath, mode: 0o644 });
    }
    return files;
  };
  let ours = await listOf({ mine: "a", shared: "a" });
  const theirs = await listOf({ theirs: "b", shared: "b" });
  await using one = await lab.open({ list: async () => ({ files: ours, problems: [] }) });
  await using two = await lab.open({ owner: "b", list: async () => ({ files: theirs, problems: [] }) });
  await one.sync();
  await two.sync();
  expect(await lab.targetFiles()).toEqual(["mine", "shared", "theirs"]);
  expect(await lab.readTarget("shared")).toBe("b");
  expect(await one.sync()).toBe(2);
  expect(await lab.readTarget("shared")).toBe("a");
  expect([...one.warnings, ...two.warnings]).toEqual([]);
  expect(await one.sync()).toBe(1);
  await two.sync();
  ours = [];
  await one.sync();
  expect(await lab.targetFiles()).toEqual(["shared", "theirs"]);
  expect(await lab.readTarget("shared")).toBe("b");
});

test("E9: a file of the user is kept aside when an offered file replaces it", async () => {
  await using lab = await openLab();
  await using side = await lab.open();
  await mkdir(join(lab.base, "sub"), { recursive: true });
  await writeFile(join(lab.base, "sub/theirs"), "precious");
  await writeFile(join(lab.base, "same"), "same");
  await lab.offer("sub/theirs", "1");
  await lab.offer("same", "same");
  await side.sync();
  expect(await lab.readTarget("sub/theirs")).toBe("1");
  const [, kept = ""] = side.warnings.join().match(/kept as (\S+)\.$/) ?? [];
  expect(await readFile(kept, "utf8")).toBe("precious");
  await lab.offer("sub/theirs", "2");
  await side.sync();
  expect(side.warnings).toHaveLength(1);
});

test("F58: an environment without tar is reported", async () => {
  await using lab = await openLab({ without: ["tar"] });
  await using side = await lab.open();
  await lab.offer("a", "1");
  await side.sync();
  expect(side.warnings).toEqual([expect.stringContaining("tar is not installed")]);
});

test("a host file that cannot be read is reported, and its copy stays", async () => {
  await using lab = await openLab();
  await using side = await lab.open();
  const path = await lab.offer("a", "1");
  await side.sync();
  await rm(path);
  await mkdir(`${path}-x`);
  lab.offered.set("a", { hostPath: `${path}-x/${"n".repeat(300)}`, targetPath: "a", mode: 0o644 });
  await side.sync();
  expect(side.warnings).toEqual([expect.stringContaining("ENAMETOOLONG")]);
  expect(await lab.readTarget("a")).toBe("1");
});

test("concurrent commands share one sync, and stopping one command does not stop the sync for the others", async () => {
  await using lab = await openLab();
  await using side = await lab.open();
  await lab.offer("a", "1");
  const stop = new AbortController();
  let checks = 0;
  side.intercept((request) => {
    if (checks++ === 0) stop.abort(new Error("stopped"));
    return request;
  });
  const stopped = side.beforeCommand(stop.signal);
  const others = [side.beforeCommand(), side.beforeCommand()];
  await expect(stopped).rejects.toThrow("stopped");
  await Promise.all(others);
  expect(await lab.readTarget("a")).toBe("1");
  expect(side.runs).toHaveLength(3);
});

test("staging folders of killed processes are removed after an hour", async () => {
  await using lab = await openLab();
  await using side = await lab.open();
  const old = join(lab.base, ".hermes-sync/stage-old");
  const young = join(lab.base, ".hermes-sync/stage-young");
  for (const folder of [old, young]) await mkdir(join(folder, "old"), { recursive: true });
  await writeFile(join(old, "1"), "left");
  await utimes(old, 1_000, 1_000);
  await lab.offer("a", "1");
  await side.sync();
  expect(await lab.stages()).toEqual(["stage-young"]);
});
