import { randomBytes } from "node:crypto";
import { chmod, mkdir, readdir, readFile, readlink, rm, stat, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  type FilesTraits,
  openFilesLab,
  withChangedCommands,
  withChangedRequests,
} from "../../../../test/support/files-lab.ts";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { createEnvironmentFiles } from "../environment-files.ts";

const signal = AbortSignal.timeout(7_200_000); // for the whole file

/** Tests of copies that every environment passes. */
export function copyContract(traits: FilesTraits): void {
  const openLab = () => openFilesLab(traits);

  describe(`${traits.name} keeps the contract of copies`, () => {
    test("E3: a file is copied in and out byte for byte with its mode, and replaces a file", async () => {
      await using lab = await openLab();
      await using here = await tempFolder();
      for (const size of [0, 1, 300_000, 5_000_000]) {
        const content = randomBytes(size);
        await writeFile(here.file("in"), content);
        await chmod(here.file("in"), 0o751);
        let seen = 0;
        const onBytes = (count: number) => {
          seen += count;
        };
        const target = `${lab.home}/-new/it's ${size % 2}`;
        expect(await lab.files.copyIn(here.file("in"), target, { onBytes }, signal)).toMatchObject({
          kind: "copied",
          path: target,
          type: "file",
          bytes: size,
        });
        expect(seen).toBe(size);
        expect(await lab.files.stat(target, signal)).toMatchObject({ size, mode: 0o751 });
        const out = here.file("far/out");
        expect(await lab.files.copyOut(target, out, { onBytes }, signal)).toMatchObject({
          kind: "copied",
          path: out,
        });
        expect((await readFile(out)).equals(content)).toBe(true);
        expect((await stat(out)).mode & 0o777).toBe(0o751);
        expect(seen).toBe(size * 2);
      }
      expect(await readdir(here.file("far"))).toEqual(["out"]);
      expect((await lab.sh("ls -A ./-new")).trim().split("\n")).toHaveLength(2);
    });

    test("E3: a folder is copied in and out with names, modes, links and empty folders", async () => {
      await using lab = await openLab();
      await using here = await tempFolder();
      const long = `${"d".repeat(90)}/${"e".repeat(90)}/${"f".repeat(120)}`;
      const texts: Record<string, string> = {
        "a b": "1",
        "two\nlines": "2",
        "-rf": "3",
        "é 漢😀": "4",
        "sub/x": "5",
        [long]: "6",
      };
      const source = here.file("source");
      for (const [name, text] of Object.entries(texts)) {
        await mkdir(join(source, name, ".."), { recursive: true });
        await writeFile(join(source, name), text);
      }
      await mkdir(join(source, "empty"));
      await symlink("sub/x", join(source, "link"));
      await symlink(`../${long}`, join(source, "sub/long-link"));
      await writeFile(join(source, "big"), randomBytes(1_000_000));
      await chmod(join(source, "sub/x"), 0o755);
      await chmod(join(source, "empty"), 0o711);
      await chmod(source, 0o750);
      const server = createServer().listen(join(source, "socket"));
      await new Promise((resolve) => server.once("listening", resolve));
      try {
        const fileBytes = 1_000_006; // file contents only, without archive overhead
        let seen = 0;
        const onBytes = (count: number) => {
          seen += count;
        };
        const into = await lab.files.copyIn(source, `${lab.home}/deep/there`, { onBytes }, signal);
        expect(into).toMatchObject({
          kind: "copied",
          type: "folder",
          files: 7,
          bytes: fileBytes,
          skipped: 1,
          skippedNames: ["socket"],
        });
        expect(seen).toBe(fileBytes);
        expect(await lab.sh("ls -A deep; cat deep/there/link")).toBe("there\n5");
        expect(await lab.files.stat(`${lab.home}/deep/there`, signal)).toMatchObject({ mode: 0o750 });
        await lab.sh("mkfifo deep/there/pipe; ln deep/there/-rf deep/there/second");
        const back = here.file("back");
        const out = await lab.files.copyOut(`${lab.home}/deep/there/`, back, { onBytes }, signal);
        expect(out).toMatchObject({
          kind: "copied",
          type: "folder",
          files: 8,
          bytes: fileBytes,
          skipped: 1,
          skippedNames: ["pipe"],
        });
        expect(seen).toBe(fileBytes * 2);
        for (const [name, text] of Object.entries(texts)) {
          expect(await readFile(join(back, name), "utf8"), name).toBe(text);
        }
        const both = [join(source, "big"), join(back, "big")].map((path) => readFile(path));
        const [before, after] = await Promise.all(both);
        expect(after?.equals(before ?? Buffer.alloc(0))).toBe(true);
        expect(await readlink(join(back, "sub/long-link"))).toBe(`../${long}`);
        const modes = await Promise.all(
          ["sub/x", "empty", "."].map(async (name) => (await stat(join(back, name))).mode & 0o777),
        );
        expect(modes).toEqual([0o755, 0o711, 0o750]);
        expect((await readdir(here.path)).toSorted()).toEqual(["back", "source"]);
      } finally {
        await new Promise((resolve) => server.close(resolve));
      }
    });

    test("a missing, existing, irregular or too large path is reported with its side, and no partial copy remains", async () => {
      await using lab = await openLab();
      await using here = await tempFolder();
      await writeFile(here.file("f"), "file");
      await mkdir(here.file("d"));
      await writeFile(here.file("d/x"), "x".repeat(50_000));
      await lab.sh("mkdir d; echo far > f; echo big > d/x; mkfifo p");
      const { files, home } = lab;
      const into = (from: string, to: string, maxBytes?: number) =>
        files.copyIn(here.file(from), `${home}/${to}`, { maxBytes }, signal);
      expect(await into("none", "x")).toMatchObject({ kind: "missing", side: "host" });
      expect(await into("f", "d")).toMatchObject({ kind: "is-folder", side: "environment" });
      expect(await into("f", "p")).toMatchObject({ kind: "not-regular", side: "environment" });
      expect(await into("f", "f/below")).toMatchObject({ kind: "not-a-folder", side: "environment" });
      expect(await into("d", "d")).toMatchObject({ kind: "exists", side: "environment" });
      expect(await into("d", "f")).toMatchObject({ kind: "exists", side: "environment" });
      expect(await into("d", "new", 40_000)).toMatchObject({ kind: "too-large", side: "host" });
      expect(await into("f", "new", 3)).toMatchObject({ kind: "too-large", side: "host" });
      const out = (from: string, to: string, maxBytes?: number) =>
        files.copyOut(`${home}/${from}`, here.file(to), { maxBytes }, signal);
      expect(await out("none", "x")).toMatchObject({ kind: "missing", side: "environment" });
      expect(await out("p", "x")).toMatchObject({ kind: "not-regular", side: "environment" });
      expect(await out("f", "d")).toMatchObject({ kind: "is-folder", side: "host" });
      expect(await out("d", "d")).toMatchObject({ kind: "exists", side: "host" });
      expect(await out("d", "f")).toMatchObject({ kind: "exists", side: "host" });
      expect(await out("f", "f/below")).toMatchObject({ kind: "not-a-folder", side: "host" });
      expect(await out("f", "new", 3)).toMatchObject({ kind: "too-large", side: "environment" });
      expect(await out("d", "new", 600)).toMatchObject({ kind: "too-large", side: "environment" });
      expect((await readdir(here.path)).toSorted()).toEqual(["d", "f"]);
      expect(await lab.sh("ls -A; cat f")).toBe("d\nf\np\nfar\n");
    });

    test("an interrupted copy leaves the previous content on both sides", async () => {
      await using lab = await openLab();
      await using here = await tempFolder();
      const { environment, home } = lab;
      await mkdir(here.file("d"));
      for (const name of ["f", "d/a", "d/b"]) await writeFile(here.file(name), randomBytes(400_000));
      await lab.sh("echo old > f; mkdir far; head -c 900000 /dev/zero > far/x");
      const halved = withChangedRequests(environment, ({ stdin, ...request }) => ({
        ...request,
        stdin:
          stdin === undefined || typeof stdin === "string" ? stdin : half(stdin as AsyncIterable<Uint8Array>),
      }));
      const files = createEnvironmentFiles(halved, halved.openSession());
      for (const [from, to] of [
        ["f", "f"],
        ["d", "new"],
      ]) {
        const outcome = await files.copyIn(here.file(`${from}`), `${home}/${to}`, {}, signal);
        expect(outcome).toMatchObject({ kind: "incomplete", side: "environment" });
      }
      // The sender dies after some bytes.
      const dying = withChangedCommands(environment, (command) =>
        command
          .replace('{ cat "$p" >&3; }', '{ head -c 100000 "$p" >&3; false; }')
          .replace("tar -c -f - ", "tar -c -f - . | head -c 100000; false; : "),
      );
      await writeFile(here.file("out"), "old");
      expect(await dying.copyOut(`${home}/far/x`, here.file("out"), {}, signal)).toMatchObject({
        side: "environment",
      });
      expect(await dying.copyOut(`${home}/far`, here.file("far"), {}, signal)).toMatchObject({
        side: "environment",
      });
      const stop = new AbortController();
      const onBytes = () => stop.abort(new Error("enough"));
      await expect(
        lab.files.copyOut(`${home}/far/x`, here.file("out"), { onBytes }, stop.signal),
      ).rejects.toThrow("enough");
      expect(await readFile(here.file("out"), "utf8")).toBe("old");
      expect((await readdir(here.path)).toSorted()).toEqual(["d", "f", "out"]);
      expect(await lab.sh("ls -A; cat f")).toBe("f\nfar\nold\n");
    });

    test("the next copy into the folder removes the leftovers of a killed receiver", async () => {
      await using lab = await openLab();
      await using here = await tempFolder();
      await mkdir(here.file("d"));
      for (const name of ["f", "d/a"]) await writeFile(here.file(name), "content");
      const killed = withChangedCommands(lab.environment, (command) =>
        command.replace(/exec dd |tar -x /g, (program) => `kill -9 $$; ${program}`),
      );
      for (const [name, leftover] of [
        ["f", ".hermes-write-"],
        ["d", ".hermes-copy-"],
      ]) {
        const from = here.file(`${name}`);
        const outcome = await killed.copyIn(from, `${lab.home}/target`, {}, signal);
        expect(outcome).toMatchObject({ side: "environment" });
        // Programs that the killed shell had started end by themselves.
        await expect.poll(() => lab.sh("ls -A")).toContain(leftover);
        const copied = async () => {
          await lab.sh("chmod -R u+rwx target 2> /dev/null; rm -rf target");
          expect(await lab.files.copyIn(from, `${lab.home}/target`, {}, signal)).toMatchObject({
            kind: "copied",
          });
          return lab.sh("ls -A");
        };
        await expect.poll(copied).toBe("target\n");
        await lab.sh("rm -rf target");
      }
    });

    test("50 MB are copied both ways in small chunks, and a full disk is reported", async () => {
      await using lab = await openLab();
      await using here = await tempFolder();
      const content = randomBytes(1_000_000);
      await writeFile(here.file("f"), Buffer.concat(Array.from({ length: 50 }, () => content)));
      let largest = 0;
      const onBytes = (count: number) => {
        largest = Math.max(largest, count);
      };
      const target = `${lab.home}/f`;
      expect(await lab.files.copyIn(here.file("f"), target, { onBytes }, signal)).toMatchObject({
        bytes: 50_000_000,
      });
      expect(await lab.files.copyOut(target, here.file("g"), { onBytes }, signal)).toMatchObject({
        bytes: 50_000_000,
      });
      expect((await readFile(here.file("g"))).equals(await readFile(here.file("f")))).toBe(true);
      expect(largest).toBeLessThan(1_100_000);
      await lab.sh("rm f");
      await rm(here.file("g"));
      const limited = withChangedCommands(lab.environment, (command) => `ulimit -f 8; ${command}`);
      expect(await limited.copyIn(here.file("f"), target, {}, signal)).toMatchObject({ kind: "disk-full" });
      expect(await lab.sh("ls -A")).toBe("");
    });
  });
}

async function* half(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let sent = 0;
  for await (const chunk of chunks) {
    yield chunk;
    sent += chunk.length;
    if (sent >= 200_000) return;
  }
}
