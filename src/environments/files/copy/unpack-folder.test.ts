import { execFile } from "node:child_process";
import {
  chmod,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { createSkipList } from "./copy-outcome.ts";
import { packFolder } from "./pack-folder.ts";
import { ArchiveRefused, createTarReader } from "./read-tar.ts";
import { formatHeader, type NewEntry, padding } from "./tar-header.ts";
import { openFolderUnpacker } from "./unpack-folder.ts";

const run = promisify(execFile);

type Member = NewEntry & { readonly content?: string };

function archiveOf(members: readonly Member[]): Buffer {
  const blocks = members.flatMap(({ content = "", ...known }) => {
    const bytes = Buffer.from(content);
    return [formatHeader({ size: bytes.length, ...known }), bytes, Buffer.alloc(padding(bytes.length))];
  });
  return Buffer.concat([...blocks, Buffer.alloc(1_024)]);
}

/** Unpacks an archive in chunks of `partBytes`. */
async function unpack(folder: string, archive: Buffer, partBytes = archive.length) {
  await using unpacker = openFolderUnpacker(folder);
  const reader = createTarReader(unpacker);
  for (let at = 0; at < archive.length; at += partBytes) {
    await reader.push(archive.subarray(at, at + partBytes));
  }
  if (reader.isComplete) await unpacker.complete();
  return { isComplete: reader.isComplete, skipped: unpacker.skipped.names, files: unpacker.files };
}

describe("an untrusted archive", () => {
  const file = (name: string): Member => ({ name, content: "evil" });
  const link = (name: string, linkName: string): Member => ({ name, linkName, type: "symlink" });
  const hard = (name: string, linkName: string): Member => ({ name, linkName, type: "hardlink" });

  test.each<[string, Member[]]>([
    ["an absolute name", [file("/tmp/evil")]],
    ["a name with ..", [file("../evil")]],
    ["a name with .. in the middle", [file("a/../../evil")]],
    ["a long name with ..", [file(`${"a/".repeat(80)}${"../".repeat(90)}evil`)]],
    ["a folder with ..", [{ name: "../evil/", type: "folder" }]],
    ["a link and a file of the same name", [link("l", "sub"), file("l")]],
    ["a file and another file below it", [file("f"), file("f/evil")]],
    ["a file twice", [file("f"), file("f")]],
    ["a link twice", [link("l", "a"), link("l", "b")]],
    ["a hard link to a file outside", [hard("h", "../victim")]],
    ["a hard link to an absolute path", [hard("h", "/etc/passwd")]],
    ["a hard link to a symbolic link", [link("l", "sub"), hard("h", "l")]],
    ["a file instead of the folder", [{ name: ".", content: "x" }]],
  ])("is refused for %s, and nothing outside is touched", async (_, members) => {
    await using temp = await tempFolder();
    await mkdir(temp.file("in"));
    await writeFile(temp.file("victim"), "safe");
    await expect(unpack(temp.file("in"), archiveOf(members))).rejects.toThrow(ArchiveRefused);
    expect((await readdir(temp.path)).toSorted()).toEqual(["in", "victim"]);
    expect(await readFile(temp.file("victim"), "utf8")).toBe("safe");
  });

  test("links that lead outside, devices and FIFOs are skipped, and a file below such a link gets a real folder", async () => {
    await using temp = await tempFolder();
    await mkdir(temp.file("in"));
    await mkdir(temp.file("out"));
    const members = [
      link("absolute", "/etc"),
      link("up", "../out"),
      link("a/b/deep", "../../ok"),
      link("a/b/too-deep", "../../../out"),
      link("through", "a/b/deep/../../.."),
      link("fine", "./a/b"),
      { name: "device", type: "other" as const },
      file("up/x"),
      file("ok"),
    ];
    const done = await unpack(temp.file("in"), archiveOf(members));
    expect(done).toMatchObject({ isComplete: true, files: 2 });
    expect(done.skipped).toEqual(["absolute", "up", "a/b/too-deep", "through", "device"]);
    expect(await readdir(temp.file("out"))).toEqual([]);
    expect(await readFile(temp.file("in/up/x"), "utf8")).toBe("evil");
    expect(await readFile(temp.file("in/a/b/deep"), "utf8")).toBe("evil");
    expect(await readlink(temp.file("in/fine"))).toBe("./a/b");
  });

  test("set-user-id and set-group-id bits are dropped, and the mode of a link is never changed", async () => {
    await using temp = await tempFolder();
    await mkdir(temp.file("in"));
    await unpack(
      temp.file("in"),
      archiveOf([
        { ...file("s"), mode: 0o6755 },
        { name: "d/", type: "folder", mode: 0o1777 },
      ]),
    );
    expect((await lstat(temp.file("in/s"))).mode & 0o7777).toBe(0o755);
    expect((await lstat(temp.file("in/d"))).mode & 0o7777).toBe(0o777);
  });

  test("an invalid archive is refused, and an archive without its end is incomplete", async () => {
    await using temp = await tempFolder();
    const good = archiveOf([{ name: "f", content: "x".repeat(700) }]);
    const bad = Buffer.from(good);
    bad[3] = 0x41;
    for (const [index, archive] of [bad, Buffer.alloc(2_000, "not a tar")].entries()) {
      await mkdir(temp.file(`${index}`));
      await expect(unpack(temp.file(`${index}`), archive)).rejects.toThrow(ArchiveRefused);
    }
    for (const length of [100, 512, 1_000, 1_536]) {
      await mkdir(temp.file(`cut-${length}`));
      expect(await unpack(temp.file(`cut-${length}`), good.subarray(0, length))).toMatchObject({
        isComplete: false,
      });
    }
    const huge = formatHeader({ name: "f", size: 9e12 });
    await mkdir(temp.file("huge"));
    expect(await unpack(temp.file("huge"), huge)).toMatchObject({ isComplete: false });
  });
});

describe("archives of other programs", () => {
  test.each(["gnu", "pax", "ustar"])("the %s format is read in chunks of any size", async (format) => {
    await using temp = await tempFolder();
    const long =
      format === "ustar" ? `${"d".repeat(90)}/${"f".repeat(90)}` : `${"d".repeat(120)}/${"é".repeat(100)}`;
    await mkdir(join(temp.path, "source", long, ".."), { recursive: true });
    await writeFile(join(temp.path, "source", long), "long");
    await writeFile(temp.file("source/big"), Buffer.alloc(70_001, "x"));
    // GNU tar writes a time before 1970 as a negative number, which ustar cannot represent.
    if (format !== "ustar") await utimes(temp.file("source/big"), 0, new Date("1960-01-01"));
    await symlink(`./${long}`.slice(0, 99), temp.file("source/link"));
    await run("tar", [`--format=${format}`, "-C", temp.file("source"), "-cf", temp.file("a.tar"), "."]);
    const archive = await readFile(temp.file("a.tar"));
    for (const part of [1_000_000, 513, 7]) {
      const into = temp.file(`into-${part}`);
      await mkdir(into);
      expect(await unpack(into, archive, part)).toMatchObject({ isComplete: true, files: 2, skipped: [] });
      expect(await readFile(join(into, long), "utf8")).toBe("long");
      expect((await readFile(join(into, "big"))).equals(Buffer.alloc(70_001, "x"))).toBe(true);
    }
  });

  test("tar unpacks our archives: names, modes, links", async () => {
    await using temp = await tempFolder();
    const long = `${"d".repeat(120)}/${"é".repeat(100)}`;
    await mkdir(join(temp.path, "source", long, ".."), { recursive: true });
    await writeFile(join(temp.path, "source", long), "long");
    await chmod(join(temp.path, "source", long), 0o751);
    await symlink(long, temp.file("source/link"));
    const chunks: Uint8Array[] = [];
    const progress = { files: 0, bytes: 0, skipped: createSkipList() };
    for await (const chunk of packFolder(temp.file("source"), progress)) chunks.push(chunk);
    await writeFile(temp.file("a.tar"), Buffer.concat(chunks));
    await mkdir(temp.file("into"));
    await run("tar", ["-C", temp.file("into"), "-xpf", temp.file("a.tar")]);
    expect((await readdir(temp.file("into"))).toSorted()).toEqual(["content", "end"]);
    expect(await readFile(temp.file("into/content/link"), "utf8")).toBe("long");
    expect((await lstat(join(temp.path, "into/content", long))).mode & 0o777).toBe(0o751);
    expect(progress).toMatchObject({ files: 1, bytes: 4 });
  });
});
