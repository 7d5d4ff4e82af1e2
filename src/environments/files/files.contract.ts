import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { type FilesTraits, openFilesLab, withChangedCommands } from "../../../test/support/files-lab.ts";
import { shellRows } from "../../../test/support/shell-rows.ts";
import { quoteWord } from "../channel/quote.ts";
import { collect } from "../environment.contract.ts";
import { createEnvironmentFiles } from "./environment-files.ts";

const signal = AbortSignal.timeout(7_200_000); // for the whole file

/** Tests of file operations that every environment passes. */
export function filesContract(traits: FilesTraits): void {
  const { name, smallFolder } = traits;
  const openLab = () => openFilesLab(traits);
  const it = shellRows(traits);

  const text = (content: string): Uint8Array => Buffer.from(content, "utf8");

  describe(`${name} keeps the contract of files`, () => {
    test("E3: a read returns exactly the bytes that were written: none, all values, 40 KB, 1 MB, 5 MB", async () => {
      await using lab = await openLab();
      const contents = [
        Buffer.alloc(0),
        Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
        randomBytes(40_000),
        randomBytes(1_000_000),
        randomBytes(5_000_000),
      ];
      for (const content of contents) {
        const path = `${lab.home}/f-${content.length}`;
        const written = await lab.files.write(path, content, {}, signal);
        expect(written).toMatchObject({ kind: "written", created: true, ownerKept: true });
        const read = await lab.files.readBytes(path, 10_000_000, signal);
        if (read.kind !== "bytes") throw new Error(read.message);
        expect(Buffer.compare(read.bytes, content)).toBe(0);
        expect(written).toHaveProperty("digest", read.digest);
      }
      expect((await lab.sh("ls -A")).trim().split("\n")).toHaveLength(contents.length);
    });

    test("names are used literally: spaces, quotes, newlines, dashes, unicode, patterns", async () => {
      await using lab = await openLab();
      const names = [
        "a b",
        'it\'s "x"',
        "two\nlines\n",
        "-rf",
        "*",
        "$(id)`id`",
        "é 漢字",
        "~",
        ".hidden",
        "a\\b",
      ];
      for (const [index, odd] of names.entries()) {
        const path = `${lab.home}/${odd}`;
        expect(await lab.files.write(path, text(`${index}`), {}, signal)).toMatchObject({
          kind: "written",
          path,
        });
        expect(await lab.files.read(path, {}, signal)).toMatchObject({
          kind: "text",
          path,
          lines: [`${index}`],
        });
        expect(await lab.files.stat(path, signal)).toMatchObject({
          kind: "found",
          path,
          type: "file",
          size: 1,
        });
      }
      const listed = await lab.files.list(lab.home, {}, signal);
      if (listed.kind !== "listed") throw new Error(listed.message);
      expect(listed.entries.map((entry) => entry.name).toSorted()).toEqual(names.toSorted());
      for (const odd of names) {
        expect(await lab.files.remove(`${lab.home}/${odd}`, {}, signal)).toMatchObject({
          kind: "removed",
        });
      }
      expect(await lab.files.list(lab.home, {}, signal)).toMatchObject({ entries: [], total: 0 });
    });

    it("E1, F25, F26: relative paths start in the session's folder, ~ is the environment's home, and the session is unchanged", async () => {
      await using lab = await openLab();
      const session = lab.environment.openSession();
      const files = createEnvironmentFiles(lab.environment, session);
      await collect(lab.environment, `cd ${lab.home}; cat() { echo mine; }; export KEPT=1`, {
        session,
      });
      expect(await files.write("-x/y", text("1"), {}, signal)).toMatchObject({
        kind: "written",
        path: `${lab.home}/-x/y`,
      });
      expect(await files.read("-x/y", {}, signal)).toMatchObject({ lines: ["1"] });
      const home = (await lab.sh("cd; pwd -P")).trim();
      expect(await files.stat("~", signal)).toMatchObject({ type: "folder", path: home });
      const after = await collect(lab.environment, 'pwd; echo "$KEPT"', { session });
      expect(after.stdout).toBe(`${lab.home}\n1\n`);
      await lab.sh("rm -rf -- ./-x; mkdir gone");
      await collect(lab.environment, `cd ${lab.home}/gone; rmdir ${lab.home}/gone`, { session });
      expect(await files.read("x", {}, signal)).toMatchObject({ kind: "missing" });
      expect(await files.stat(lab.home, signal)).toMatchObject({ type: "folder" });
    });

    it("E2: a text is paged by lines, and each page names the first line of the next", async () => {
      await using lab = await openLab();
      const path = `${lab.home}/t`;
      await lab.sh("i=1; while [ $i -le 4500 ]; do echo line $i; i=$((i+1)); done > t; printf end >> t");
      const first = await lab.files.read(path, {}, signal);
      expect(first).toMatchObject({ kind: "text", firstLine: 1, nextLine: 2001, totalLines: 4501 });
      expect(first).toMatchObject({ endsWithNewline: false, encoding: "utf-8", bom: false, lossy: false });
      const third = await lab.files.read(path, { offsetLine: 4001 }, signal);
      if (third.kind !== "text") throw new Error(third.kind);
      expect([third.lines[0], third.lines.at(-1), third.nextLine]).toEqual(["line 4001", "end", undefined]);
      const few = await lab.files.read(path, { offsetLine: 7, limitLines: 2 }, signal);
      expect(few).toMatchObject({ lines: ["line 7", "line 8"], nextLine: 9 });
      const exact = await lab.files.read(path, { offsetLine: 4500, limitLines: 2 }, signal);
      expect(exact).toMatchObject({ lines: ["line 4500", "end"], nextLine: undefined });
      const past = await lab.files.read(path, { offsetLine: 5000 }, signal);
      expect(past).toMatchObject({ kind: "past-end", lines: [], totalLines: 4501 });
      const bytes = await lab.files.readBytes(path, 1_000_000, signal);
      expect(bytes).toHaveProperty("digest", (first as { digest?: string }).digest);
    });

    it("E2: long lines and long pages are cut in the environment, between characters", async () => {
      await using lab = await openLab();
      let sent = 0;
      const counting = createEnvironmentFiles(
        {
          openSession: () => lab.environment.openSession(),
          run: (request, cut) =>
            lab.environment.run(
              {
                ...request,
                onOutput(stream, bytes) {
                  sent += bytes.length;
                  return request.onOutput(stream, bytes);
                },
              },
              cut,
            ),
          warm: async () => undefined,
          runningCommands: 0,
          [Symbol.asyncDispose]: async () => undefined,
        },
        lab.environment.openSession(),
      );
      await lab.files.write(`${lab.home}/one`, text("é漢😀".repeat(300_000)), {}, signal);
      const one = await counting.read(`${lab.home}/one`, {}, signal);
      if (one.kind !== "text") throw new Error(one.kind);
      expect(one).toMatchObject({ cutLines: [1], totalLines: 1, nextLine: undefined, lossy: false });
      expect("é漢😀".repeat(1_000).startsWith(one.lines[0] ?? "-")).toBe(true);
      expect(one.lines[0]?.length).toBe(2_000);
      expect(sent).toBeLessThan(20_000);
      await lab.files.write(`${lab.home}/many`, text(`${"x".repeat(999)}\n`.repeat(1_500)), {}, signal);
      const many = await counting.read(`${lab.home}/many`, { offsetLine: 11 }, signal);
      expect(many).toMatchObject({ nextLine: 111, cutLines: [], totalLines: 1_500 });
      expect(sent).toBeLessThan(500_000);
    });

    it("E2: a sparse file of 10 GB and one of 20 MB in one line are refused or cut, quickly", async () => {
      await using lab = await openLab();
      await lab.sh(
        "dd if=/dev/null of=big bs=1 seek=10000000000 2>/dev/null; tr '\\000' x </dev/zero | head -c 20000000 > l; echo >> l; echo next >> l",
      );
      expect(await lab.files.readBytes(`${lab.home}/big`, 50_000_000, signal)).toMatchObject({
        kind: "too-large",
      });
      const line = await lab.files.read(`${lab.home}/l`, {}, signal);
      expect(line).toMatchObject({ kind: "text", cutLines: [1], nextLine: 2, totalLines: 2 });
      expect(await lab.files.read(`${lab.home}/l`, { offsetLine: 2 }, signal)).toMatchObject({
        lines: ["next"],
      });
    });

    it("E2: an empty file is a text without lines; a missing file and a path below a file are reported", async () => {
      await using lab = await openLab();
      await lab.sh(": > empty");
      expect(await lab.files.read(`${lab.home}/empty`, {}, signal)).toMatchObject({
        kind: "text",
        size: 0,
        lines: [],
        totalLines: 0,
        nextLine: undefined,
      });
      for (const path of [`${lab.home}/no`, `${lab.home}/no/no`]) {
        expect(await lab.files.read(path, {}, signal)).toMatchObject({ kind: "missing", path });
        expect(await lab.files.readBytes(path, 10, signal)).toMatchObject({ kind: "missing", path });
        expect(await lab.files.stat(path, signal)).toMatchObject({ kind: "missing", path });
        expect(await lab.files.list(path, {}, signal)).toMatchObject({ kind: "missing", path });
        expect(await lab.files.remove(path, {}, signal)).toMatchObject({ kind: "missing", path });
      }
      const below = `${lab.home}/empty/below`;
      expect(await lab.files.read(below, {}, signal)).toMatchObject({ kind: "not-a-folder" });
      expect(await lab.files.write(below, text("x"), {}, signal)).toMatchObject({ kind: "not-a-folder" });
    });

    it("E2: binary, UTF-8 with a BOM and UTF-16 are distinguished", async () => {
      await using lab = await openLab();
      const read = async (content: Uint8Array, offsetLine = 1) => {
        await lab.files.write(`${lab.home}/x`, content, {}, signal);
        return lab.files.read(`${lab.home}/x`, { offsetLine }, signal);
      };
      expect(await read(Buffer.from("a\0b"))).toMatchObject({ kind: "binary", size: 3 });
      expect(await read(Buffer.from([0x61, 0xff, 0x01, 0x62]))).toMatchObject({ kind: "binary" });
      const latin1 = Buffer.concat([Buffer.from("a\n".repeat(20_000)), Buffer.from([0x80, 0xe9, 0x0a])]);
      expect(await read(latin1)).toMatchObject({ kind: "text", encoding: "utf-8", lossy: false });
      expect(await read(latin1.subarray(-10))).toMatchObject({
        encoding: "windows-1252",
        lines: ["", "a", "a", "a", "€é"],
      });
      expect(await read(text(`${"x".repeat(999)}é`))).toMatchObject({ kind: "text", lossy: false });
      expect(await read(text("\ufeffa\r\nb\r\n"))).toMatchObject({ bom: true, lines: ["a", "b"] });
      const wide = Buffer.from("\ufeffa\nbé漢\n", "utf16le");
      expect(await read(wide, 2)).toMatchObject({
        encoding: "utf-16le",
        bom: true,
        lines: ["bé漢"],
        totalLines: 2,
      });
      expect(await read(Buffer.from(wide).swap16())).toMatchObject({
        encoding: "utf-16be",
        lines: ["a", "bé漢"],
      });
      expect(await read(Buffer.from("plain text\n", "utf16le"))).toMatchObject({
        encoding: "utf-16le",
        bom: false,
      });
      const late = await read(Buffer.concat([text("a\n".repeat(1_000)), Buffer.from([0xff, 0x01, 0x0a])]));
      expect(late).toMatchObject({ kind: "text", lossy: true });
    });

    it("E3: a write keeps the mode and the link of a file, creates folders, and applies a given mode", async () => {
      await using lab = await openLab();
      await lab.sh(
        "umask 022; mkdir real; echo old > real/f; chmod 4751 real/f; ln -s real/f link; ln -s nowhere dangling; ln -s real folder",
      );
      const written = await lab.files.write(`${lab.home}/link`, text("new"), {}, signal);
      expect(written).toMatchObject({ kind: "written", created: false, path: `${lab.home}/real/f` });
      expect(await lab.sh("readlink link; cat real/f")).toBe("real/f\nnew");
      expect(await lab.files.stat(`${lab.home}/link`, signal)).toMatchObject({
        mode: 0o4751,
        isLink: true,
      });
      await lab.files.write(`${lab.home}/folder/deep/er/g`, text("g"), {}, signal);
      const mode = 0o666 & ~Number.parseInt(await lab.sh("umask"), 8);
      expect(await lab.files.stat(`${lab.home}/real/deep/er/g`, signal)).toMatchObject({ mode });
      await lab.files.write(`${lab.home}/dangling`, text("d"), { mode: 0o600 }, signal);
      expect(await lab.files.stat(`${lab.home}/nowhere`, signal)).toMatchObject({ mode: 0o600 });
      await lab.files.write(`${lab.home}/nowhere`, text("d"), { mode: 0o755 }, signal);
      expect(await lab.files.stat(`${lab.home}/nowhere`, signal)).toMatchObject({ mode: 0o755 });
      await lab.files.remove(`${lab.home}/link`, {}, signal);
      expect(await lab.sh("cat real/f; ls -A real; [ -L link ] || echo gone")).toBe("newdeep\nf\ngone\n");
    });

    it("folders, FIFOs, devices and link loops are refused without being opened", async () => {
      await using lab = await openLab();
      await lab.sh("mkdir d; mkfifo p; ln -s p top; ln -s loop2 loop1; ln -s loop1 loop2");
      const kinds: [string, string][] = [
        [`${lab.home}/d`, "is-folder"],
        [`${lab.home}/p`, "not-regular"],
        [`${lab.home}/top`, "not-regular"],
        ["/dev/zero", "not-regular"],
        ["/dev/null", "not-regular"],
        [`${lab.home}/loop1`, "symlink-loop"],
      ];
      for (const [path, kind] of kinds) {
        expect(await lab.files.read(path, {}, signal)).toMatchObject({ kind });
        expect(await lab.files.readBytes(path, 10, signal)).toMatchObject({ kind });
        expect(await lab.files.write(path, text("x"), {}, signal)).toMatchObject({ kind });
      }
      expect(await lab.files.write(`${lab.home}/new/`, text("x"), {}, signal)).toMatchObject({
        kind: "is-folder",
      });
      expect(await lab.files.remove(`${lab.home}/d`, {}, signal)).toMatchObject({ kind: "is-folder" });
      expect(await lab.files.remove(`${lab.home}/p`, {}, signal)).toMatchObject({
        kind: "not-regular",
      });
      expect(await lab.files.write(`${lab.home}/d`, randomBytes(200_000), {}, signal)).toMatchObject({
        kind: "is-folder",
      });
      expect(await lab.files.list(lab.home, { limit: 2 }, signal)).toMatchObject({
        entries: [
          { name: "d", type: "folder" },
          { name: "loop1", type: "link" },
        ],
        total: 5,
      });
    });

    it("operations that the user of the environment has no permission for are denied and change nothing", async ({
      skip,
    }) => {
      await using lab = await openLab();
      const isRoot = (await lab.sh("id -u")).trim() === "0";
      const files = isRoot
        ? withChangedCommands(
            lab.environment,
            (command) => `exec su nobody -s /bin/sh -c ${quoteWord(command)}`,
          )
        : lab.files;
      if (isRoot && (await collect(lab.environment, "su nobody -s /bin/sh -c true")).exitCode !== 0) {
        skip("commands cannot run as the user nobody here");
      }
      await lab.sh(
        "mkdir closed shut open; echo s > closed/f; echo s > shut/f; echo s > open/f; chmod 000 closed; chmod 555 shut; chmod 777 open; chmod 000 open/f",
      );
      expect(await files.read(`${lab.home}/closed/f`, {}, signal)).toMatchObject({ kind: "denied" });
      expect(await files.list(`${lab.home}/closed`, {}, signal)).toMatchObject({ kind: "denied" });
      expect(await files.read(`${lab.home}/open/f`, {}, signal)).toMatchObject({ kind: "denied" });
      expect(await files.write(`${lab.home}/open/f`, text("x"), {}, signal)).toMatchObject({
        kind: "denied",
      });
      expect(await files.write(`${lab.home}/shut/f`, text("x"), {}, signal)).toMatchObject({
        kind: "denied",
      });
      expect(await files.write(`${lab.home}/shut/g/h`, text("x"), {}, signal)).toMatchObject({
        kind: "denied",
      });
      expect(await files.remove(`${lab.home}/shut/f`, {}, signal)).toMatchObject({ kind: "denied" });
      expect(await files.write(`${lab.home}/open/g`, text("x"), {}, signal)).toMatchObject({
        kind: "written",
      });
      await lab.sh("chmod 666 open/f");
      const lost = await files.write(`${lab.home}/open/f`, text("x"), {}, signal);
      expect(lost).toMatchObject({ kind: "written", ownerKept: !isRoot });
      if (isRoot) {
        await lab.sh("chown 65534:65534 open/f");
        const kept = await lab.files.write(`${lab.home}/open/f`, text("y"), {}, signal);
        expect(kept).toMatchObject({ kind: "written", ownerKept: true });
        expect(await lab.files.stat(`${lab.home}/open/f`, signal)).toMatchObject({
          uid: 65534,
          gid: 65534,
        });
      }
      expect(await lab.sh("cat shut/f; ls -A open")).toBe("s\nf\ng\n");
    });

    it("a read-only file system is reported as read-only", async ({ skip }) => {
      await using lab = await openLab();
      const mounts = await lab.sh(
        "while read -r _ at type with _; do case $with in ro,*|ro) [ -d $at ] && echo $at ;; esac; done < /proc/mounts; :",
      );
      const [readOnly] = mounts.split("\n");
      if (!readOnly) return skip("nothing is mounted read-only here");
      expect(await lab.files.write(`${readOnly}/x`, text("x"), {}, signal)).toMatchObject({
        kind: "read-only",
      });
    });

    it("a full disk and the file size limit are reported, the old content stays, and no temporary file remains", async () => {
      await using lab = await openLab();
      await lab.files.write(`${lab.home}/f`, text("old"), {}, signal);
      const limited = withChangedCommands(lab.environment, (command) => `ulimit -f 8; ${command}`);
      for (const size of [20_000, 200_000]) {
        const outcome = await limited.write(`${lab.home}/f`, randomBytes(size), {}, signal);
        expect(outcome).toMatchObject({ kind: "disk-full" });
      }
      expect(await lab.sh("cat f; ls -A")).toBe("oldf\n");
      if (smallFolder === undefined) return;
      const path = `${smallFolder}/small`;
      await lab.files.write(path, text("old"), {}, signal);
      await lab.sh(`head -c 70000000 /dev/zero > ${smallFolder}/filler 2>/dev/null; :`);
      expect(await lab.files.write(path, randomBytes(500_000), {}, signal)).toMatchObject({
        kind: "disk-full",
      });
      expect(
        await lab.sh(`rm ${smallFolder}/filler; cat ${path}; ls -A ${smallFolder} | grep hermes-w; :`),
      ).toBe("old");
    });

    it("only one of several writers that read the same content succeeds; the others get changed-meanwhile", async () => {
      await using lab = await openLab();
      const path = `${lab.home}/f`;
      const race = async (expected: string) => {
        const outcomes = await Promise.all(
          [1, 2, 3, 4].map((index) =>
            lab.files.write(path, text(`${index} after ${expected}`), { expected }, signal),
          ),
        );
        const kinds = outcomes.map((outcome) => outcome.kind).toSorted();
        expect(kinds).toEqual(["changed-meanwhile", "changed-meanwhile", "changed-meanwhile", "written"]);
        return outcomes.find((outcome) => outcome.kind === "written")?.digest ?? "";
      };
      let digest = await race("absent");
      for (let round = 0; round < 3; round++) digest = await race(digest);
      expect(await lab.files.readBytes(path, 100, signal)).toMatchObject({ digest });
      await lab.files.remove(path, {}, signal);
      expect(await lab.files.write(path, text("x"), { expected: digest }, signal)).toMatchObject({
        kind: "changed-meanwhile",
      });
      expect(await lab.sh("ls -A")).toBe("");
    });

    test("a crash in the middle of a write leaves one of the complete versions, and the next write succeeds", async () => {
      await using lab = await openLab();
      const path = `${lab.home}/f`;
      const versions = ["a", "b"].map((letter) => text(letter.repeat(1_500_000)));
      await lab.files.write(path, versions[0] ?? text(""), {}, signal);
      let cut = 0;
      for (let round = 0; round < 6; round++) {
        // Kills the shell of the command and its group from inside, while the content is still being sent.
        const killing = withChangedCommands(
          lab.environment,
          (command) => `(sleep 0.0${round * 3}; kill -9 $PPID $$ 0) </dev/null >/dev/null 2>&1 & ${command}`,
        );
        const outcome = await killing.write(path, versions[round % 2] ?? text(""), {}, signal);
        if (outcome.kind !== "written") cut++;
        const now = await lab.files.readBytes(path, 2_000_000, signal);
        if (now.kind !== "bytes") throw new Error(now.message);
        expect(versions.some((version) => Buffer.compare(version, now.bytes) === 0)).toBe(true);
      }
      expect(cut).toBeGreaterThan(0);
      expect(await lab.files.write(path, text("c"), {}, signal)).toMatchObject({ kind: "written" });
    });

    test("content that arrives incomplete never replaces the file", async () => {
      await using lab = await openLab();
      const path = `${lab.home}/f`;
      await lab.files.write(path, text("old"), {}, signal);
      async function* half(): AsyncIterable<Uint8Array> {
        yield randomBytes(300_000);
      }
      const { openSession } = lab.environment;
      const broken = createEnvironmentFiles(
        {
          openSession,
          run: (request, cut) => lab.environment.run({ ...request, stdin: half() }, cut),
          warm: async () => undefined,
          runningCommands: 0,
          [Symbol.asyncDispose]: async () => undefined,
        },
        openSession(),
      );
      expect(await broken.write(path, randomBytes(600_000), {}, signal)).toMatchObject({
        kind: "incomplete",
      });
      expect(await lab.sh("cat f; ls -A")).toBe("oldf\n");
    });

    it("the temporary file of a killed writer is removed after an hour, and its lock does not block", async () => {
      await using lab = await openLab();
      await lab.sh(
        "touch -t 202001010000 .hermes-write-old; : > .hermes-write-new; ln -s 999999999 .hermes-lock",
      );
      expect(await lab.files.write(`${lab.home}/f`, text("x"), {}, signal)).toMatchObject({
        kind: "written",
      });
      const left = (await lab.sh("ls -A")).trim().split("\n");
      expect(left).toContain(".hermes-write-new");
      expect(left).not.toContain(".hermes-write-old");
    });

    test("an abort rejects with its reason, and an environment that cannot be reached is not a missing file", async () => {
      await using lab = await openLab();
      const stop = new AbortController();
      stop.abort(new Error("enough"));
      await expect(lab.files.stat(lab.home, stop.signal)).rejects.toThrow("enough");
      const dying = withChangedCommands(lab.environment, () => "kill -9 $PPID $$; sleep 5");
      expect(["unavailable", "failed"]).toContain((await dying.read("/x", {}, signal)).kind);
    });
  });
}
