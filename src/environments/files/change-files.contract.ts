import { describe, expect } from "vitest";
import { type FilesLab, type FilesTraits, openFilesLab } from "../../../test/support/files-lab.ts";
import { shellRows } from "../../../test/support/shell-rows.ts";
import { patchFiles, replaceInFile, writeText } from "./change-files.ts";
import { createEnvironmentFiles, type EnvironmentFiles } from "./environment-files.ts";

const signal = AbortSignal.timeout(7_200_000); // for the whole file

/** Tests of file changes that every environment passes. */
export function changeFilesContract(traits: FilesTraits): void {
  const it = shellRows(traits);
  /** Relative paths start in the folder of the test. */
  const openLab = async (): Promise<FilesLab> => {
    const lab = await openFilesLab(traits);
    const session = lab.environment.openSession();
    await lab.environment.run(
      { command: `cd ${lab.home}`, session, timeoutMs: 30_000, onOutput: () => undefined },
      signal,
    );
    const files = createEnvironmentFiles(lab.environment, session);
    return { ...lab, files, [Symbol.asyncDispose]: () => lab[Symbol.asyncDispose]() };
  };
  const put = (files: EnvironmentFiles, path: string, content: string | Uint8Array) =>
    files.write(path, Buffer.from(content), {}, signal);

  describe(`${traits.name} keeps the contract of changes`, () => {
    it("E3, E4: encoding, BOM, line endings and mode stay, and the diff shows what changed", async () => {
      await using lab = await openLab();
      const { files } = lab;
      await put(files, "crlf", "\ufeffone\r\ntwo\r\nthree\r\n");
      await lab.sh("chmod 640 crlf");
      const outcome = await replaceInFile(
        files,
        "crlf",
        { oldText: "two\n", newText: "2\n2b\n" },
        {},
        signal,
      );
      expect(outcome).toMatchObject({ kind: "changed", changes: [{ kind: "update", path: "crlf" }] });
      expect(outcome).toHaveProperty(
        "diff",
        "--- a/crlf\n+++ b/crlf\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n+2b\n three\n",
      );
      const now = await files.readBytes("crlf", 100, signal);
      if (now.kind !== "bytes") throw new Error(now.message);
      expect(Buffer.from(now.bytes).toString("utf8")).toBe("\ufeffone\r\n2\r\n2b\r\nthree\r\n");
      expect(await files.stat("crlf", signal)).toMatchObject({ mode: 0o640 });
      await put(files, "wide", Buffer.from("\ufeffa\nb\n", "utf16le"));
      await writeText(files, "wide", "a\nc\n", {}, signal);
      expect(await files.read("wide", {}, signal)).toMatchObject({
        encoding: "utf-16le",
        bom: true,
        lines: ["a", "c"],
      });
      expect(await writeText(files, "new/deep", "x\n", {}, signal)).toMatchObject({
        kind: "changed",
        changes: [{ kind: "add", digestBefore: undefined }],
        diff: "--- /dev/null\n+++ b/new/deep\n@@ -0,0 +1 @@\n+x\n",
      });
      expect(await writeText(files, "new/deep", "x\n", {}, signal)).toMatchObject({ kind: "unchanged" });
      expect(await writeText(files, "bad", "\ud800", {}, signal)).toMatchObject({ kind: "not-text" });
      expect(await files.stat("bad", signal)).toMatchObject({ kind: "missing" });
    });

    it("E4: an ambiguous text, a missing text and a missing file change nothing", async () => {
      await using lab = await openLab();
      const { files } = lab;
      await put(files, "f", "same\nother\nsame\n");
      await put(files, "binary", Buffer.from([1, 0, 2]));
      const replace = (path: string, oldText: string, all = false) =>
        replaceInFile(files, path, { oldText, newText: "x", all }, {}, signal);
      expect(await replace("f", "same")).toMatchObject({ kind: "ambiguous", count: 2, lines: [1, 3] });
      expect(await replace("f", "sane\nother!")).toMatchObject({ kind: "not-found" });
      expect(await replace("binary", "a")).toMatchObject({ kind: "not-text" });
      expect(await replace("none", "a")).toMatchObject({ kind: "missing" });
      expect(await lab.sh("cat f")).toBe("same\nother\nsame\n");
      expect(await replace("f", "same", true)).toMatchObject({ kind: "changed" });
      expect(await lab.sh("cat f")).toBe("x\nother\nx\n");
    });

    it("E4: a patch adds, changes, moves and deletes files, all at once", async () => {
      await using lab = await openLab();
      const { files } = lab;
      await put(files, "change", "one\ntwo\n");
      await put(files, "gone", "bye\n");
      await put(files, "from", "a\nb\n");
      await lab.sh("chmod 755 from");
      const patch = `*** Begin Patch
*** Add File: new/added
+hello
*** Update File: change
@@
 one
-two
+2
*** Delete File: gone
*** Update File: from
*** Move to: to
@@
 a
-b
+B
*** End Patch
`;
      const outcome = await patchFiles(files, patch, {}, signal);
      expect(outcome).toMatchObject({ kind: "changed" });
      if (outcome.kind !== "changed") return;
      expect(outcome.changes.map(({ kind, path, movedFrom }) => [kind, path, movedFrom])).toEqual([
        ["add", "new/added", undefined],
        ["update", "change", undefined],
        ["move", "to", "from"],
        ["delete", "gone", undefined],
      ]);
      for (const part of ["+++ b/new/added", "-two\n+2", "rename to to", "+++ /dev/null"]) {
        expect(outcome.diff).toContain(part);
      }
      expect(await lab.sh("cat new/added change to; ls -A; ls -l to | cut -c1-10")).toBe(
        "hello\none\n2\na\nB\nchange\nnew\nto\n-rwxr-xr-x\n",
      );
    });

    it("E4: an ambiguous, unmatched or malformed patch changes nothing and reports where", async () => {
      await using lab = await openLab();
      const { files } = lab;
      await put(files, "f", "x\ny\nx\ny\n");
      await put(files, "g", "fine\n");
      const patch = (body: string) =>
        patchFiles(files, `*** Begin Patch\n${body}*** End Patch\n`, {}, signal);
      const good = "*** Update File: g\n@@\n-fine\n+changed\n";
      expect(await patch(`${good}*** Update File: f\n@@\n-x\n+z\n`)).toMatchObject({
        kind: "patch-refused",
        problems: [{ path: "f", reason: "ambiguous" }],
      });
      expect(await patch(`${good}*** Update File: none\n@@\n-x\n+z\n`)).toMatchObject({
        kind: "patch-refused",
        problems: [{ path: "none", reason: "file-missing" }],
      });
      expect(await patch(`${good}*** Add File: f\n+z\n`)).toMatchObject({
        problems: [{ path: "f", reason: "file-exists" }],
      });
      expect(await patch("*** Wrong File: f\n")).toMatchObject({ kind: "patch-malformed" });
      expect(await patch("*** Add File: ../out\n+z\n")).toMatchObject({ kind: "patch-malformed" });
      expect(await lab.sh("cat f g; ls -A")).toBe("x\ny\nx\ny\nfine\nf\ng\n");
    });

    it("E3, E4: every change refuses folders, FIFOs, devices, link loops and links that lead outside", async () => {
      await using lab = await openLab();
      const { files } = lab;
      await lab.sh(
        "mkdir d in out; mkfifo p; ln -s l2 l1; ln -s l1 l2; echo secret > out/f; ln -s ../out/f in/link; ln -s ../out in/folder; ln -s ../out/new in/dangling; echo own > in/own; ln -s own in/inner",
      );
      const onlyInFolder = `${lab.home}/in`;
      const cases: [string, string][] = [
        ["d", "is-folder"],
        ["p", "not-regular"],
        ["/dev/null", "not-regular"],
        ["l1", "symlink-loop"],
        ["in/own/below", "not-a-folder"],
      ];
      for (const [path, kind] of cases) {
        expect(await writeText(files, path, "x", {}, signal)).toMatchObject({ kind });
        expect(await replaceInFile(files, path, { oldText: "a", newText: "b" }, {}, signal)).toMatchObject({
          kind,
        });
        const patch = `*** Begin Patch\n*** Update File: ${path}\n@@\n-a\n+b\n*** End Patch\n`;
        expect(await patchFiles(files, patch, { allowAbsolute: true }, signal)).toMatchObject({ kind });
      }
      const outside = [
        "in/link",
        "in/folder/f",
        "in/folder/new",
        "in/folder/a/b",
        "in/dangling",
        "out/f",
        "in/no/../../../x",
      ];
      for (const path of outside) {
        expect(await writeText(files, path, "x", { onlyInFolder }, signal), path).toMatchObject({
          kind: "outside",
        });
      }
      expect(await writeText(files, "in/inner", "new\n", { onlyInFolder }, signal)).toMatchObject({
        kind: "changed",
      });
      expect(await writeText(files, "in/deep/er", "new\n", { onlyInFolder }, signal)).toMatchObject({
        kind: "changed",
      });
      expect(await lab.sh("cat out/f in/own; ls -A out")).toBe("secret\nnew\nf\n");
      const twice =
        "*** Begin Patch\n*** Update File: in/own\n@@\n-new\n+1\n*** Update File: in/inner\n@@\n-new\n+2\n*** End Patch\n";
      expect(await patchFiles(files, twice, {}, signal)).toMatchObject({ kind: "failed" });
    });

    it("E4: concurrent changes of one file do not overwrite each other", async () => {
      await using lab = await openLab();
      const { files } = lab;
      await put(files, "f", Array.from({ length: 8 }, (_, index) => `line ${index}\n`).join(""));
      const outcomes = await Promise.all(
        Array.from({ length: 8 }, (_, index) =>
          replaceInFile(files, "f", { oldText: `line ${index}\n`, newText: `done ${index}\n` }, {}, signal),
        ),
      );
      const won = outcomes.flatMap((outcome, index) => (outcome.kind === "changed" ? [index] : []));
      expect(won.length).toBeGreaterThan(0);
      for (const outcome of outcomes.filter(({ kind }) => kind !== "changed")) {
        expect(outcome).toMatchObject({
          kind: "stopped",
          problem: { kind: "changed-meanwhile" },
          changed: [],
        });
      }
      const lines = (await lab.sh("cat f")).trim().split("\n");
      expect(lines).toEqual(lines.map((_, index) => `${won.includes(index) ? "done" : "line"} ${index}`));
    });

    it("E4: if a later file cannot be written, earlier changes are reverted, and changes that cannot be reverted are reported", async () => {
      await using lab = await openLab();
      const { files } = lab;
      const patch = `*** Begin Patch
*** Update File: a
@@
-a
+A
*** Add File: added
+new
*** Delete File: gone
*** Update File: z
@@
-z
+Z
*** End Patch
`;
      const start = async () => {
        for (const name of ["a", "z", "gone"]) await put(files, name, `${name}\n`);
      };
      /** Another process changes `z` after `a` was written, and optionally `a` too. */
      const disturbed = (alsoFirst: boolean): EnvironmentFiles => ({
        ...files,
        async write(path, bytes, options, cut) {
          const written = await files.write(path, bytes, options, cut);
          if (path.endsWith("/a") && options.expected !== undefined) {
            await put(files, "z", "other\n");
            if (alsoFirst) await put(files, "a", "third\n");
          }
          return written;
        },
      });
      await start();
      expect(await patchFiles(disturbed(false), patch, {}, signal)).toMatchObject({
        kind: "stopped",
        problem: { kind: "changed-meanwhile", path: `${lab.home}/z` },
        changed: [],
        diff: "",
      });
      expect(await lab.sh("cat a z gone; ls -A")).toBe("a\nother\ngone\na\ngone\nz\n");
      await start();
      const left = await patchFiles(disturbed(true), patch, {}, signal);
      expect(left).toMatchObject({ kind: "stopped", changed: [{ kind: "update", path: "a" }] });
      expect(await lab.sh("cat a z; ls -A")).toBe("third\nother\na\ngone\nz\n");
    });
  });
}
