import { mkdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { type ApptainerLab, openApptainerLab } from "../../../test/support/apptainer.ts";
import { collect } from "../environment.contract.ts";
import { ensureInstance } from "./ensure-instance.ts";

const standIn = fileURLToPath(new URL("../../../test/support/apptainer-stand-in", import.meta.url));

async function openStandIn(): Promise<ApptainerLab> {
  const lab = await openApptainerLab(standIn, "image.sif");
  await writeFile(`${lab.folder}/image.sif`, "");
  return lab;
}

const ensure = ({ builder, reporter, spec }: ApptainerLab, overrides = {}) =>
  ensureInstance(builder, spec(overrides), reporter, AbortSignal.timeout(300_000));

const linesOf = async ({ folder }: ApptainerLab, file: string): Promise<string[]> =>
  (await readFile(`${folder}/person/${file}`, "utf8")).trim().split("\n");

test("B4: (stand-in) sixteen simultaneous requests get one instance, although the program itself would start two", async () => {
  await using lab = await openStandIn();
  const found = await Promise.all(Array.from({ length: 16 }, () => ensure(lab)));
  expect(new Set(found.map(({ pid }) => pid)).size).toBe(1);
  expect(await linesOf(lab, ".stand-in.starts")).toHaveLength(1);
});

test("B4: (stand-in) an instance that another process started outside our lock is used", async () => {
  await using lab = await openStandIn();
  const { name } = lab.spec();
  const racing = await lab.wrap(
    `if [ "$2" = start ]; then ${standIn} instance start ${lab.folder}/image.sif ${name}; fi`,
  );
  const found = await ensure(racing);
  expect(found.name).toBe(name);
  expect(await linesOf(lab, ".stand-in.starts")).toHaveLength(1);
});

test("B4: (stand-in) refused limits are omitted with one notice", async () => {
  await using lab = await openStandIn();
  await writeFile(`${lab.folder}/person/.stand-in.no-limits`, "");
  await ensure(lab);
  await lab.stop(lab.spec().name);
  await ensure(lab);
  expect(lab.notices.filter((text) => /without limits.*cannot use cgroups/.test(text))).toHaveLength(1);
});

test("B4: (stand-in) supported limits are set without a notice", async () => {
  await using lab = await openStandIn();
  const seen = await lab.wrap('echo "$*" >> "$HOME/seen"');
  await ensure(seen, { container_memory: 300, container_cpu: 1.5 });
  expect((await linesOf(lab, "seen")).join("\n")).toContain("--memory 300M --cpus 1.5");
  expect(lab.notices.join()).not.toContain("limits");
});

test("B4: (stand-in) files are stored in an overlay per profile and task, or in memory", async () => {
  await using lab = await openStandIn();
  const seen = await lab.wrap('echo "$*" >> "$HOME/seen"');
  await ensure(seen);
  await lab.stop(lab.spec().name);
  await ensure(seen, { container_persistent: false });
  const starts = (await linesOf(lab, "seen")).filter((line) => line.startsWith("instance start"));
  expect(starts[0]).toMatch(
    /--containall --no-home .*--overlay \S+\/scratch\/hermes-overlays\/overlay-default-[0-9a-f]{12} /,
  );
  expect(starts[1]).toMatch(/--containall --no-home .*--writable-tmpfs /);
  expect(starts[1]).not.toMatch(/--overlay|--bind/);
});

test("(stand-in) an instance from another image is kept with a notice", async () => {
  await using lab = await openStandIn();
  const first = await ensure(lab);
  await writeFile(`${lab.folder}/other.sif`, "");
  const second = await ensure(lab, { singularity_image: "other.sif" });
  expect(second.pid).toBe(first.pid);
  expect(lab.notices.join()).toMatch(/runs from \S+image\.sif and not from \S+other\.sif/);
});

test("(stand-in) an unwritable overlay is reported with the setting to change", async () => {
  await using lab = await openStandIn();
  await mkdir(`${lab.folder}/scratch`);
  await writeFile(`${lab.folder}/scratch/hermes-overlays`, "a file in the way");
  await expect(ensure(lab)).rejects.toMatchObject({
    code: "sandbox-unavailable",
    message: expect.stringContaining("hermes-overlays"),
    hint: expect.stringContaining("terminal.scratch_dir"),
  });
});

test("(stand-in) a refused start is reported with the program's message, and nothing runs on the host instead", async () => {
  await using lab = await openStandIn();
  const refusing = await lab.wrap('if [ "$2" = start ]; then echo "FATAL: no namespace" >&2; exit 255; fi');
  await using environment = refusing.open();
  await expect(collect(environment, `touch ${lab.folder}/ran-on-the-host`)).rejects.toMatchObject({
    code: "sandbox-unavailable",
    message: expect.stringContaining("FATAL: no namespace"),
    hint: expect.stringContaining("exec IMAGE true"),
  });
  await expect(readFile(`${lab.folder}/ran-on-the-host`)).rejects.toMatchObject({ code: "ENOENT" });
});

test("(stand-in) an unshared instance that was starting when the caller aborted is stopped", async () => {
  await using lab = await openStandIn();
  const slow = await lab.wrap(
    `if [ "$2" = start ]; then ${standIn} "$@"; echo > "$HOME/started"; exec sleep 600; fi`,
  );
  const stop = new AbortController();
  const { builder, reporter, spec } = slow;
  const ensuring = ensureInstance(
    builder,
    spec({ docker_persist_across_processes: false }),
    reporter,
    stop.signal,
  );
  await expect
    .poll(() => readFile(`${lab.folder}/person/started`).catch(() => undefined), { timeout: 150_000 })
    .toBeDefined();
  stop.abort(new Error("enough"));
  await expect(ensuring).rejects.toThrow("enough");
  expect(await lab.instances()).toEqual([]);
});

test("B4: (stand-in) a full scratch folder is reported, because its size is not limited", async () => {
  await using lab = await openStandIn();
  await mkdir(`${lab.folder}/scratch/hermes-files`, { recursive: true });
  await writeFile(`${lab.folder}/scratch/hermes-files/large`, Buffer.alloc(2_000_000, "x"));
  await ensure(lab, { disk_warning_gb: 1 });
  expect(lab.notices.join()).not.toContain("disk_warning_gb");
  await lab.stop(lab.spec().name);
  await ensure(lab, { disk_warning_gb: 0.001 });
  expect(lab.notices.join()).toContain("terminal.disk_warning_gb");
});
