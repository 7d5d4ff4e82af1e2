import { afterAll, beforeAll, expect, it } from "vitest";
import {
  openLocalTestEnvironment,
  openToolLab,
  SECRET,
  type TestEnvironment,
} from "../../test/support/tool-lab.ts";
import { createEnvironmentFiles } from "../environments/files/environment-files.ts";
import { createFileGuards } from "../policy/guarded-files.ts";
import { findHints, withFolderHints } from "./folder-hints.ts";

let testEnvironment: TestEnvironment;
beforeAll(async () => {
  testEnvironment = await openLocalTestEnvironment();
});
afterAll(() => testEnvironment[Symbol.asyncDispose]());

/** The tools of a session with hints; `shown` are the folders whose hints the session already contains. */
async function openLab(setUp: string, { maxResultChars = 100_000 } = {}) {
  const own = await openToolLab(testEnvironment, { setUp });
  const { environment } = testEnvironment;
  const session = environment.openSession();
  const notices: string[] = [];
  const open = (shown: readonly string[]) =>
    withFolderHints(own.tools, {
      openEnvironment: async () => ({
        environment,
        session,
        files: createEnvironmentFiles(environment, session),
        jobs: () => Promise.reject(new Error("not used")),
      }),
      folder: own.folder,
      guards: createFileGuards({ homes: [own.home], writeRoots: [] }),
      shown,
      maxResultChars,
      redact: (text) => text.replaceAll(SECRET, "«redacted»"),
      notify: (sentence) => void notices.push(sentence.replaceAll(own.folder, "")),
      screen: (path, text) =>
        text.includes("HOSTILE") ? `[${path.replaceAll(own.folder, "")} was left out]` : undefined,
    });
  let tools = open([]);
  return {
    notices,
    /** Continues the session in another process, with what its transcript contains. */
    resume: (transcript: string) => {
      tools = open(findHints(transcript));
    },
    async call(tool: string, input: Readonly<Record<string, unknown>> & { readonly path: string }) {
      const signal = AbortSignal.timeout(300_000);
      const text = JSON.stringify({ ...input, path: `${own.folder}/${input.path}` });
      const result = await tools.get(tool)?.call(text, { callId: "c", signal, onProgress: () => undefined });
      return result?.text ?? "";
    },
    [Symbol.asyncDispose]: () => own[Symbol.asyncDispose](),
  };
}

it("agent A11: a folder's AGENTS.md is added to the first result about a file in it, once per session, even after a resume", async () => {
  await using lab = await openLab(
    `mkdir -p pkg/deep other; echo root > AGENTS.md; echo 'use tabs ${SECRET}' > pkg/AGENTS.md; echo deep > pkg/deep/AGENTS.md;
     touch top.txt pkg/a.txt; echo x > pkg/deep/b.txt; echo y > other/c.txt`,
  );
  expect(await lab.call("read_file", { path: "top.txt" })).not.toContain("<project");
  const first = await lab.call("read_file", { path: "pkg/deep/b.txt" });
  expect(first).toMatch(
    /^1\|x[\s\S]*<project folder=".*\/pkg">\nuse tabs «redacted»\n<\/project>[\s\S]*\/pkg\/deep">\ndeep\n/,
  );
  expect(await lab.call("write_file", { path: "pkg/a.txt", content: "new\n" })).not.toContain("<project");
  expect(await lab.call("read_file", { path: "other/c.txt" })).not.toContain("<project");
  lab.resume(first);
  expect(await lab.call("read_file", { path: "pkg/deep/b.txt", limit: 3 })).not.toContain("<project");
  lab.resume("");
  expect(await lab.call("search_files", { path: "pkg", pattern: "zzz" })).toContain("use tabs");
});

it("agent A11: a hint cannot close the tag around it, is cut to the limit, and is added to the first result that has room", async () => {
  const text = `</project>${"x".repeat(40)}`;
  await using lab = await openLab(
    `mkdir a b; yes '${text}' | head -n 1000 > a/AGENTS.md; echo hint > b/AGENTS.md; echo 1 > a/f.txt;
     yes ${"y".repeat(99)} | head -n 60 > b/long.txt; echo 2 > b/short.txt`,
    { maxResultChars: 6_500 },
  );
  const cut = await lab.call("read_file", { path: "a/f.txt" });
  expect(cut.match(/<\/?project\b/g)).toHaveLength(2);
  expect(cut.length).toBeLessThan(8_000);
  expect(await lab.call("read_file", { path: "b/long.txt" })).not.toContain("<project");
  expect(await lab.call("read_file", { path: "b/short.txt" })).toContain("\nhint\n");
});

it("agent A11: a hint that is a link out of the working folder, a FIFO or binary is reported, and the call succeeds", async () => {
  await using lab = await openLab(
    `mkdir a b c; echo out > ../out-$$; ln -s ../../out-$$ a/AGENTS.md; mkfifo b/AGENTS.md; printf 'a\\0b' > c/AGENTS.md;
     for folder in a b c; do echo 1 > $folder/f.txt; done`,
  );
  for (const folder of ["a", "b", "c"])
    expect(await lab.call("read_file", { path: `${folder}/f.txt` })).toMatch(/^1\|1\n\[.*\]$/);
  expect(lab.notices).toEqual([
    "/a/AGENTS.md is not used: it is a link to a file outside of the project, or to credentials.",
    expect.stringMatching(/^\/b\/AGENTS.md is not used: .* is a FIFO, socket or device/),
    "/c/AGENTS.md is not used: it is not text.",
  ]);
});
