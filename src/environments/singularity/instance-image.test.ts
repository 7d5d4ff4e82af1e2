import { readdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { type ApptainerLab, openApptainerLab } from "../../../test/support/apptainer.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { ensureImage } from "./instance-image.ts";

const standIn = fileURLToPath(new URL("../../../test/support/apptainer-stand-in", import.meta.url));
const openLab = () => openApptainerLab(standIn, "docker://example/tool:1.2");

const ensure = ({ builder, reporter, spec }: ApptainerLab, image?: string) =>
  ensureImage(builder, spec(image === undefined ? {} : { singularity_image: image }), reporter, neverAborted);

test("B4: (stand-in) an image that many callers need at once is built once, under a name derived from its address", async () => {
  await using lab = await openLab();
  const paths = await Promise.all(Array.from({ length: 8 }, () => ensure(lab)));
  expect(new Set(paths)).toEqual(new Set([`${lab.folder}/scratch/.apptainer/example-tool-1.2.sif`]));
  expect(await readFile(`${lab.folder}/person/.stand-in.builds`, "utf8")).toBe("docker://example/tool:1.2\n");
  expect(await readFile(paths[0] ?? "", "utf8")).toBe("docker://example/tool:1.2\n");
  expect(lab.progress.join("\n")).toMatch(/Building an image from docker:\/\/example\/tool:1\.2/);
});

test("B4: (stand-in) a failed build is reported with a hint and leaves nothing under the final name", async () => {
  await using lab = await openLab();
  await expect(ensure(lab, "docker://broken")).rejects.toMatchObject({
    code: "sandbox-image-missing",
    message: expect.stringContaining("manifest unknown"),
    hint: expect.stringContaining("build IMAGE.sif docker://broken"),
  });
  const left = await readdir(`${lab.folder}/scratch/.apptainer`);
  expect(left.filter((name) => !name.endsWith(".lock"))).toEqual([]);
});

test("B4: (stand-in) a build that is stopped leaves nothing under the final name, and the next build succeeds", async () => {
  await using lab = await openLab();
  const slow = await lab.wrap(
    'if [ "$1" = build ]; then echo half > "$2"; echo > "$HOME/started"; exec sleep 600; fi',
  );
  const stop = new AbortController();
  const ensuring = ensureImage(slow.builder, slow.spec(), slow.reporter, stop.signal);
  await expect
    .poll(() => readFile(`${lab.folder}/person/started`).catch(() => undefined), { timeout: 150_000 })
    .toBeDefined();
  stop.abort(new Error("enough"));
  await expect(ensuring).rejects.toThrow("enough");
  const left = await readdir(`${lab.folder}/scratch/.apptainer`);
  expect(left.filter((name) => !name.endsWith(".lock"))).toEqual([]);
  expect(await readFile(await ensure(lab), "utf8")).toBe("docker://example/tool:1.2\n");
});

test("(stand-in) two addresses that map to the same name do not share an image", async () => {
  await using lab = await openLab();
  const one = await ensure(lab, "docker://a/b:c");
  const other = await ensure(lab, "docker://a-b:c");
  expect(other).not.toBe(one);
  expect(await readFile(one, "utf8")).toBe("docker://a/b:c\n");
  expect(await readFile(other, "utf8")).toBe("docker://a-b:c\n");
  expect(await ensure(lab, "docker://a/b:c")).toBe(one);
});

test("B4: an existing image without our source note is used as it is", async () => {
  await using lab = await openLab();
  const built = await ensure(lab);
  const old = built.replace("tool-1.2", "old-3");
  await writeFile(old, "by hand");
  expect(await ensure(lab, "docker://example/old:3")).toBe(old);
  expect(await readFile(old, "utf8")).toBe("by hand");
});

test("B4: a file or folder is used as it is, even with ~ or a relative path; a missing one is reported", async () => {
  await using lab = await openLab();
  await writeFile(`${lab.folder}/person/mine.sif`, "");
  expect(await ensure(lab, "~/mine.sif")).toBe(`${lab.folder}/person/mine.sif`);
  expect(await ensure(lab, "person")).toBe(`${lab.folder}/person`);
  await expect(ensure(lab, "--writable")).rejects.toMatchObject({
    code: "sandbox-image-missing",
    message: expect.stringContaining(`${lab.folder}/--writable`),
    hint: expect.stringContaining("terminal.singularity_image"),
  });
});
