import { execFile } from "node:child_process";
import { access, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { scale } from "../../../../../test/support/scale.ts";
import { applyPatch } from "./apply-patch.ts";
import { parsePatch } from "./parse-patch.ts";
import { patchPaths } from "./patch.ts";

interface Step {
  readonly kind: "keep" | "remove" | "add";
  readonly text: string; // with its terminator
}
interface Edit {
  readonly before: string;
  readonly after: string;
  readonly steps: readonly Step[];
}

const CONTEXT = 3;
const MARKS = { keep: " ", remove: "-", add: "+" } as const;
const SPECIAL_LINES = [
  "",
  " ",
  "}",
  "-- a",
  "++ b",
  "@@ -1 +1 @@",
  "*** End Patch",
  "\\ No newline",
  "é “ü” 😀",
  "\ta\rb",
  "x  ",
];

const anyLine = fc.oneof(
  fc.constantFrom("a", "b", ...SPECIAL_LINES),
  fc.string({ unit: "binary", maxLength: 8 }).map((text) => text.replaceAll("\n", "").replace(/\r+$/, "")),
);

/** Random edits, few and many, of short and long files; with `unique` no two lines of a file are equal. */
function edits(unique: boolean, line: fc.Arbitrary<string> = anyLine): fc.Arbitrary<Edit> {
  const step = (keeps: number) =>
    fc.record({
      kind: fc.constantFrom(...Array<"keep">(keeps).fill("keep"), "remove", "add"),
      text: line,
      ending: fc.constantFrom("\n", "\n", "\r\n"),
    });
  const steps = fc.oneof(
    fc.array(step(2), { maxLength: 12 }),
    fc.array(step(20), { maxLength: 60, size: "max" }),
  );
  return fc
    .record({ steps, openBefore: fc.boolean(), openAfter: fc.boolean() })
    .map(({ steps, openBefore, openAfter }) => {
      const lines = steps.map(
        ({ kind, text, ending }, at) => ({ kind, text: `${text}${unique ? `#${at}` : ""}${ending}` }) as Step,
      );
      return editOf(lines, openBefore, openAfter);
    });
}

/** Removes the final newline of each side if requested; a kept line that then differs becomes removed and added. */
function editOf(lines: readonly Step[], openBefore: boolean, openAfter: boolean): Edit {
  const lastOld = lines.findLastIndex((line) => line.kind !== "add");
  const lastNew = lines.findLastIndex((line) => line.kind !== "remove");
  const steps = lines.flatMap(({ kind, text }, at): Step[] => {
    const open = text.replace(/\n$/, "");
    const [old, fresh] = [
      at === lastOld && openBefore && open !== "" ? open : text,
      at === lastNew && openAfter && open !== "" ? open : text,
    ];
    if (kind === "remove") return [{ kind, text: old }];
    if (kind === "add") return [{ kind, text: fresh }];
    return old === fresh
      ? [{ kind, text: old }]
      : [
          { kind: "remove", text: old },
          { kind: "add", text: fresh },
        ];
  });
  const side = (other: Step["kind"]) =>
    steps
      .filter((step) => step.kind !== other)
      .map((step) => step.text)
      .join("");
  return { before: side("add"), after: side("remove"), steps };
}

/** Groups steps around changes, with the numbers of old and new lines before each group. */
function hunksOf(steps: readonly Step[]) {
  const hunks: { oldBefore: number; newBefore: number; steps: Step[]; last: boolean }[] = [];
  let [oldBefore, newBefore] = [0, 0];
  let inside = false;
  for (const [at, step] of steps.entries()) {
    const near = steps
      .slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1)
      .some((other) => other.kind !== "keep");
    if (near) {
      if (!inside) hunks.push({ oldBefore, newBefore, steps: [], last: false });
      hunks.at(-1)?.steps.push(step);
    }
    inside = near;
    if (step.kind !== "add") oldBefore += 1;
    if (step.kind !== "remove") newBefore += 1;
  }
  const last = hunks.at(-1);
  if (inside && last !== undefined) last.last = true;
  return hunks;
}

function bodyText(steps: readonly Step[]): string {
  return steps
    .map(
      ({ kind, text }) =>
        `${MARKS[kind]}${text}${text.endsWith("\n") ? "" : "\n\\ No newline at end of file\n"}`,
    )
    .join("");
}

function unifiedText(path: string, { steps }: Edit): string {
  const range = (before: number, count: number) => `${count === 0 ? before : before + 1},${count}`;
  const hunks = hunksOf(steps).map((hunk) => {
    const count = (other: Step["kind"]) => hunk.steps.filter((step) => step.kind !== other).length;
    const header = `@@ -${range(hunk.oldBefore, count("add"))} +${range(hunk.newBefore, count("remove"))} @@\n`;
    return header + bodyText(hunk.steps);
  });
  return hunks.length === 0 ? "" : `--- ${path}\n+++ ${path}\n${hunks.join("")}`;
}

function envelopeText(path: string, { steps }: Edit): string {
  const hunks = hunksOf(steps).map(
    (hunk) => `@@\n${bodyText(hunk.steps)}${hunk.last ? "*** End of File\n" : ""}`,
  );
  return hunks.length === 0
    ? ""
    : `*** Begin Patch\n*** Update File: ${path}\n${hunks.join("")}*** End Patch\n`;
}

/** The content after the patch; undefined if it was refused. */
function contentAfterPatch(text: string, before: string): string | undefined {
  const outcome = parsePatch(text);
  if (outcome.kind !== "parsed")
    throw new Error(`line ${outcome.line}: expected ${outcome.expected}, found ${outcome.found}`);
  const planned = applyPatch(outcome.patch, new Map([["f", before]]));
  if (planned.kind === "refused") return undefined;
  return planned.files.has("f") ? planned.files.get("f") : before;
}

test.each([
  { format: "unified diffs", textOf: unifiedText, unique: false },
  { format: "Begin Patch envelopes", textOf: envelopeText, unique: true },
])("E4: random edits as $format give exactly the bytes of the edit", ({ textOf, unique }) => {
  const seen = { hunks: 0, crlf: 0, openEnd: 0, emptied: 0, created: 0 };
  fc.assert(
    fc.property(edits(unique), (edit) => {
      const text = textOf("f", edit);
      fc.pre(text !== "");
      expect(contentAfterPatch(text, edit.before)).toBe(edit.after);
      if (hunksOf(edit.steps).length > 1) seen.hunks += 1;
      if (edit.before.includes("\r\n")) seen.crlf += 1;
      if (edit.before.endsWith("\n") !== edit.after.endsWith("\n")) seen.openEnd += 1;
      if (edit.after === "") seen.emptied += 1;
      if (edit.before === "") seen.created += 1;
    }),
    { numRuns: scale.edits },
  );
  for (const [kind, count] of Object.entries(seen)) expect(count, kind).toBeGreaterThan(scale.edits / 200);
});

test("with repeated lines and no line numbers a patch gives exactly the edit or is refused", {
  timeout: 600_000,
}, () => {
  const seen = { applied: 0, refused: 0 };
  fc.assert(
    fc.property(edits(false, fc.constantFrom("a", "b")), (edit) => {
      const text = envelopeText("f", edit);
      fc.pre(text !== "");
      const after = contentAfterPatch(text, edit.before);
      seen[after === undefined ? "refused" : "applied"] += 1;
      if (after !== undefined) expect(after).toBe(edit.after);
    }),
    { numRuns: scale.edits },
  );
  expect(seen.applied).toBeGreaterThan(0);
  expect(seen.refused).toBeGreaterThan(0);
});

test("a diff still applies after lines were added above it", () => {
  fc.assert(
    fc.property(edits(true), fc.integer({ min: 1, max: 9 }), (edit, count) => {
      const text = unifiedText("f", edit);
      fc.pre(text !== "" && edit.before !== "");
      const above = Array.from({ length: count }, (_, at) => `above ${at}\n`).join("");
      // A hunk without old lines is located only by its line number.
      fc.pre(hunksOf(edit.steps).every((hunk) => hunk.steps.some((step) => step.kind !== "add")));
      expect(contentAfterPatch(text, above + edit.before)).toBe(above + edit.after);
    }),
    { numRuns: scale.cases },
  );
});

const run = promisify(execFile);
const programs = await Promise.all(["diff", "patch"].map(isInstalled));

async function isInstalled(program: string): Promise<boolean> {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const found = await Promise.allSettled(folders.map((folder) => access(join(folder, program))));
  return found.some((outcome) => outcome.status === "fulfilled");
}

const reference = programs.every(Boolean) ? "" : " (skipped: the programs diff and patch are not installed)";

test.skipIf(reference !== "")(
  `E4: files patched by us and by the program patch from the output of diff have the same bytes${reference}`,
  { timeout: 600_000 },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "hermes-patch-"));
    try {
      const cases = fc.sample(edits(false), scale.patchedFiles);
      for (const side of ["a", "b", "work"]) await mkdir(join(folder, side));
      for (const [at, edit] of cases.entries()) {
        await writeFile(join(folder, "a", `${at}`), edit.before);
        await writeFile(join(folder, "work", `${at}`), edit.before);
        await writeFile(join(folder, "b", `${at}`), edit.after);
      }
      const differs = (error: { code?: unknown; stdout: string }) => {
        if (error.code !== 1) throw error;
        return error;
      };
      const options = { cwd: folder, maxBuffer: 64 << 20, env: { ...process.env, LC_ALL: "C" } };
      const { stdout: text } = await run("diff", ["-r", "-u", "--text", "a", "b"], options).catch(differs);
      await writeFile(join(folder, "all.patch"), text);
      await run(
        "patch",
        ["-p1", "--binary", "--batch", "-d", "work", "-i", join(folder, "all.patch")],
        options,
      );

      const outcome = parsePatch(text);
      if (outcome.kind !== "parsed") throw new Error(JSON.stringify(outcome));
      const paths = patchPaths(outcome.patch);
      const planned = applyPatch(
        outcome.patch,
        new Map(paths.map((path) => [path, cases[Number(path)]?.before])),
      );
      if (planned.kind !== "planned") throw new Error(JSON.stringify(planned.problems));
      expect(planned.files.size).toBeGreaterThan(scale.patchedFiles / 2);
      for (const [path, content] of planned.files) {
        expect(content).toBe(await readFile(join(folder, "work", path), "utf8"));
        expect(content).toBe(cases[Number(path)]?.after);
      }
      expect(paths.length).toBe(cases.filter((edit) => edit.before !== edit.after).length);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
);
