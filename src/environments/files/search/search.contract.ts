import { describe, expect, test } from "vitest";
import {
  type FilesLab,
  type FilesTraits,
  openFilesLab,
  withChangedCommands,
  withChangedRequests,
} from "../../../../test/support/files-lab.ts";
import { longEnough } from "../../../../test/support/long-enough.ts";
import { shellRows } from "../../../../test/support/shell-rows.ts";
import { quoteWord } from "../../channel/quote.ts";
import { createEnvironmentFiles, type EnvironmentFiles } from "../environment-files.ts";
import type { SearchFound } from "./search-files.ts";
import type { SearchQuery } from "./search-query.ts";
import type { SearchPrograms } from "./search-script.ts";

const signal = AbortSignal.timeout(7_200_000); // for the whole file

/** Tests of searches that every environment passes, with each search program. */
export function searchContract(traits: FilesTraits): void {
  const it = shellRows(traits);
  const engines: readonly (readonly [string, SearchPrograms])[] = [
    ["find and grep", { withoutRipgrep: true }],
    ...(traits.ripgrep === undefined ? [] : [["rg", { ripgrep: traits.ripgrep }] as const]),
  ];

  async function found(
    files: EnvironmentFiles,
    query: Partial<SearchQuery> & { path: string },
  ): Promise<SearchFound> {
    const outcome = await files.search({ target: "content", pattern: "needle", ...query }, signal);
    if (outcome.kind !== "searched") throw new Error(`${outcome.kind}: ${outcome.message}`);
    return outcome;
  }
  const shown = ({ lines }: SearchFound) =>
    lines.map(({ path, line, text, isMatch }) => `${path}${isMatch ? ":" : "-"}${line}:${text}`).toSorted();

  describe.each(engines)(`${traits.name} keeps the contract of searches by %s`, (_, programs) => {
    const openLab = async (): Promise<FilesLab> => {
      const lab = await openFilesLab(traits);
      const files = createEnvironmentFiles(lab.environment, lab.environment.openSession(), programs);
      return { ...lab, files, [Symbol.asyncDispose]: () => lab[Symbol.asyncDispose]() };
    };

    it("E5: names with spaces, newlines, colons and dashes are returned unchanged, with line and text", async () => {
      await using lab = await openLab();
      const names = ["a b", "two\nlines", "c:7:d", "-rf", "é 漢", "*", "'q\"", "--", "sub/x-1-y"];
      await lab.sh("mkdir sub");
      for (const name of names) {
        await lab.files.write(`${lab.home}/${name}`, Buffer.from(`hay\nthe needle: 1-2\r\nhay`), {}, signal);
      }
      const outcome = await found(lab.files, { path: lab.home });
      expect(shown(outcome)).toEqual(names.map((name) => `${name}:2:the needle: 1-2`).toSorted());
      expect(outcome).toMatchObject({ path: lab.home, hasMore: false, partialReason: undefined });
      const byName = await found(lab.files, { path: lab.home, target: "files", pattern: "*" });
      expect(byName.files.toSorted()).toEqual(names.toSorted());
      const only = await found(lab.files, { path: lab.home, output: "files_only" });
      expect(only.files.toSorted()).toEqual(names.toSorted());
      const counts = await found(lab.files, { path: lab.home, output: "count" });
      expect(counts.counts.map(({ path, count }) => `${path}=${count}`).toSorted()).toEqual(
        names.map((name) => `${name}=1`).toSorted(),
      );
      const one = await found(lab.files, { path: `${lab.home}/-rf` });
      expect(shown(one)).toEqual(["-rf:2:the needle: 1-2"]);
    });

    it("E5: generated folders, binary files, FIFOs and links are skipped, and a generated folder is searched as the root", async () => {
      await using lab = await openLab();
      await lab.sh(
        "mkdir -p node_modules/p .git/o deep/__pycache__ .hidden; for f in node_modules/p/x .git/o/x deep/__pycache__/x .hidden/x deep/x; do echo needle > $f; done; printf 'needle\\000needle\\n' > binary; mkfifo pipe; ln -s deep/x link; ln -s . loop; ln -s /nowhere dangling",
      );
      const outcome = await found(lab.files, { path: lab.home });
      expect(shown(outcome)).toEqual([".hidden/x:1:needle", "deep/x:1:needle"]);
      expect(outcome.partialReason).toBeUndefined();
      const names = await found(lab.files, { path: lab.home, target: "files", pattern: "x" });
      expect(names.files.toSorted()).toEqual([".hidden/x", "deep/x"]);
      const inside = await found(lab.files, { path: `${lab.home}/node_modules` });
      expect(shown(inside)).toEqual(["p/x:1:needle"]);
      const through = await found(lab.files, { path: `${lab.home}/loop/loop/deep` });
      expect(through).toMatchObject({ path: `${lab.home}/deep`, lines: [{ path: "x" }] });
    });

    it("E5: limit and offset select a page, context stays with its match, and globs select files", async () => {
      await using lab = await openLab();
      await lab.sh(
        'mkdir -p src/deep; i=0; while [ $i -lt 30 ]; do echo "line $i"; [ $((i % 10)) = 5 ] && echo needle $i; i=$((i+1)); done > src/a.ts; cp src/a.ts src/deep/b.tsx; echo needle > c.md',
      );
      const first = await found(lab.files, { path: `${lab.home}/src/a.ts`, limit: 2 });
      expect(shown(first)).toEqual(["a.ts:18:needle 15", "a.ts:7:needle 5"]);
      expect(first.hasMore).toBe(true);
      const second = await found(lab.files, { path: `${lab.home}/src/a.ts`, limit: 2, offset: 2 });
      expect(shown(second)).toEqual(["a.ts:29:needle 25"]);
      expect(second.hasMore).toBe(false);
      const around = await found(lab.files, {
        path: `${lab.home}/src/a.ts`,
        limit: 1,
        offset: 1,
        contextLines: 1,
      });
      expect(shown(around)).toEqual(["a.ts-17:line 15", "a.ts-19:line 16", "a.ts:18:needle 15"]);
      const paths = async (glob: string) =>
        (await found(lab.files, { path: lab.home, glob, output: "files_only" })).files.toSorted();
      expect(await paths("*.ts")).toEqual(["src/a.ts"]);
      expect(await paths("*.{ts,tsx}")).toEqual(["src/a.ts", "src/deep/b.tsx"]);
      expect(await paths("src/*.ts*")).toEqual(["src/a.ts"]);
      expect(await paths("src/**/*.ts*")).toEqual(["src/a.ts", "src/deep/b.tsx"]);
      expect(await paths("/c.*")).toEqual(["c.md"]);
      expect(await paths("!*.ts")).toEqual([]);
      const counted = await found(lab.files, { path: lab.home, output: "count", glob: "*.ts" });
      expect(counted.counts).toEqual([{ path: "src/a.ts", count: 3 }]);
    });

    it("E5: patterns work with dashes, classes, plain text and any case; an invalid pattern is reported with its reason", async () => {
      await using lab = await openLab();
      await lab.sh("printf '%s\\n' '-e needle' 'a.b' 'axb' 'no 42' 'Upper' '$(id)' '[x]' 'tab\there' > f");
      const lines = async (pattern: string, more: Partial<SearchQuery> = {}) =>
        (await found(lab.files, { path: lab.home, pattern, ...more })).lines.map(({ text }) => text);
      expect(await lines("-e needle")).toEqual(["-e needle"]);
      expect(await lines("--help")).toEqual([]);
      expect(await lines("a.b")).toEqual(["a.b", "axb"]);
      expect(await lines("a.b", { literal: true })).toEqual(["a.b"]);
      expect(await lines("\\d{2}$")).toEqual(["no 42"]);
      expect(await lines("^(?:no|tab)\\s[\\dh]")).toEqual(["no 42", "tab\there"]);
      expect(await lines("upper")).toEqual([]);
      expect(await lines("upper", { ignoreCase: true })).toEqual(["Upper"]);
      expect(await lines("$(id)", { literal: true })).toEqual(["$(id)"]);
      expect(await lines("[x]", { literal: true })).toEqual(["[x]"]);
      for (const pattern of ["(", "[a", "two\nlines"]) {
        const outcome = await lab.files.search({ target: "content", pattern, path: lab.home }, signal);
        expect(outcome).toMatchObject({
          kind: "pattern-invalid",
          message: expect.stringMatching(/used: ./),
        });
      }
    });

    it("E5: a long line is cut at 500 characters, and a flood of matches stops when the page is full", async () => {
      await using lab = await openLab();
      await lab.files.write(`${lab.home}/long`, Buffer.from(`needle ${"é".repeat(400_000)}\n`), {}, signal);
      const [line] = (await found(lab.files, { path: lab.home })).lines;
      expect(line).toMatchObject({ isCut: true, text: `needle ${"é".repeat(493)}` });
      await lab.sh("yes needle | head -n 3000000 > flood; for i in 1 2 3 4 5 6; do cp flood flood$i; done");
      let sent = 0;
      const counting = withChangedRequests(lab.environment, (request) => ({
        ...request,
        onOutput(stream, bytes) {
          sent += bytes.length;
          return request.onOutput(stream, bytes);
        },
      }));
      const files = createEnvironmentFiles(counting, counting.openSession(), programs);
      const flood = await found(files, { path: lab.home, glob: "flood*", pattern: "need", limit: 7 });
      expect(flood).toMatchObject({ hasMore: true, partialReason: undefined });
      expect(flood.lines).toHaveLength(7);
      expect(sent).toBeLessThan(2_000_000);
      const after = await found(lab.files, {
        path: lab.home,
        target: "files",
        pattern: "flood?",
        limit: 3,
      });
      expect(after).toMatchObject({ hasMore: true });
    });

    it("E5: an unreadable file makes the result partial with a reason, and the other results are kept", async ({
      skip,
    }) => {
      await using lab = await openLab();
      const isRoot = (await lab.sh("id -u")).trim() === "0";
      await lab.sh(
        "chmod 755 .; mkdir shut open; echo needle > open/f; echo needle > open/secret; chmod 000 shut open/secret; chmod 755 open; chmod 644 open/f",
      );
      const asOther = (command: string) => `exec su nobody -s /bin/sh -c ${quoteWord(command)}`;
      if (isRoot && (await lab.sh("su nobody -s /bin/sh -c 'echo y' 2>/dev/null || echo n")) !== "y\n") {
        skip("commands cannot run as the user nobody here");
      }
      if (isRoot && programs.ripgrep !== undefined) {
        const seen = await lab.sh(
          `su nobody -s /bin/sh -c ${quoteWord(`test -x ${programs.ripgrep}`)} && echo y || echo n`,
        );
        if (seen !== "y\n") skip("the user nobody cannot run rg here");
      }
      const files = isRoot ? withChangedCommands(lab.environment, asOther, programs) : lab.files;
      const outcome = await found(files, { path: lab.home });
      expect(shown(outcome)).toEqual(["open/f:1:needle"]);
      expect(outcome.partialReason).toMatch(/Permission denied/i);
      expect(
        await files.search({ target: "content", pattern: "x", path: `${lab.home}/shut` }, signal),
      ).toMatchObject({ kind: "denied" });
    });

    it("E5: a timeout keeps the results found so far and gives the reason", async () => {
      await using lab = await openLab();
      await lab.sh("echo needle > a");
      const isFast = programs.ripgrep !== undefined;
      const rg = `${lab.home}/rg`;
      // A fake rg that finds a line and never exits, or a find that finds a line and is slow.
      if (isFast) {
        await lab.sh(
          "printf '%s\\n' '#!/bin/sh' 'case $* in *--null*) ;; *) exit 1 ;; esac' 'printf \"./a\\0001:needle\\n\"' 'exec sleep 300' > rg; chmod 755 rg",
        );
      }
      const outcome = await longEnough(
        [2_000, 30_000],
        async (limitMs) => {
          const slow = withChangedRequests(lab.environment, (request) => ({
            ...request,
            timeoutMs: isFast ? limitMs : 120_000,
            command: request.command.replace("\nbad=0\n", "\nbad=0; sleep 2\n"),
          }));
          const files = createEnvironmentFiles(slow, slow.openSession(), isFast ? { ripgrep: rg } : programs);
          return found(files, { path: lab.home, timeoutMs: 1_000 });
        },
        (outcome) => shown(outcome).length > 0,
      );
      expect(outcome.partialReason).toContain("timed out after 1 s");
      expect(shown(outcome)).toEqual(["a:1:needle"]);
    });

    it("E5: a root that is missing, a device or below a file is reported as by other file operations", async () => {
      await using lab = await openLab();
      await lab.sh("echo x > f; mkfifo p; ln -s l1 l2; ln -s l2 l1");
      const kinds = [
        ["no", "missing"],
        ["f/below", "not-a-folder"],
        ["p", "not-regular"],
        ["l1", "symlink-loop"],
      ];
      for (const [name, kind] of kinds) {
        const query = { target: "content", pattern: "x", path: `${lab.home}/${name}` } as const;
        expect(await lab.files.search(query, signal)).toMatchObject({ kind });
      }
      const stop = new AbortController();
      stop.abort(new Error("enough"));
      const query = { target: "content", pattern: "x", path: lab.home } as const;
      await expect(lab.files.search(query, stop.signal)).rejects.toThrow("enough");
    });
  });

  test.runIf(traits.ripgrep !== undefined)(
    `E5: ${traits.name}: rg and find with grep return the same results`,
    async () => {
      await using lab = await openFilesLab(traits);
      const { ripgrep } = traits;
      await lab.sh(
        "mkdir -p a/b c .h; i=0; while [ $i -lt 12 ]; do printf 'one %s\\ntwo needle\\n\\nthree Needle %s\\n' $i $i > a/b/f$i.txt; cp a/b/f$i.txt c/g$i.md; i=$((i+1)); done; printf 'needle' > .h/x; : > empty",
      );
      const [plain, fast] = [{ withoutRipgrep: true }, { ripgrep }].map((programs) =>
        createEnvironmentFiles(lab.environment, lab.environment.openSession(), programs),
      );
      if (plain === undefined || fast === undefined) throw new Error("expected two engines");
      const queries: Partial<SearchQuery>[] = [
        {},
        { ignoreCase: true, limit: 200 },
        { pattern: "^(one|three) ", limit: 200, contextLines: 2 },
        { pattern: "e{2}d", glob: "*.md", output: "count" },
        { pattern: "\\w+ \\d$", limit: 300 },
        { pattern: "", glob: "a/**", limit: 300 },
        { output: "files_only", glob: "c/*.{md,txt}" },
        { target: "files", pattern: "*1*.txt" },
        { target: "files", pattern: "**/b/f?.txt" },
        { target: "files", pattern: "F1.TXT", ignoreCase: true },
      ];
      for (const query of queries) {
        const [one, two] = [
          await found(plain, { path: lab.home, ...query }),
          await found(fast, { path: lab.home, ...query }),
        ];
        expect([one.engine, two.engine]).toEqual(["grep", "rg"]);
        expect(shown(one), JSON.stringify(query)).toEqual(shown(two));
        expect(one.files.toSorted(), JSON.stringify(query)).toEqual(two.files.toSorted());
        const counts = [one, two].map(({ counts }) =>
          counts.map((row) => `${row.path} ${row.count}`).toSorted(),
        );
        expect(counts[0]).toEqual(counts[1]);
        expect(two.lines.length + two.files.length + two.counts.length).toBeGreaterThan(0);
        expect([one.hasMore, one.partialReason, two.hasMore, two.partialReason]).toEqual([
          false,
          undefined,
          false,
          undefined,
        ]);
      }
    },
  );
}
