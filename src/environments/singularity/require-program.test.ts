import { chmod, mkdir, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { requireProgram } from "./require-program.ts";

async function programs(folder: string, scripts: Record<string, string>): Promise<Record<string, string>> {
  await mkdir(`${folder}/bin`);
  for (const [name, script] of Object.entries(scripts)) {
    await writeFile(`${folder}/bin/${name}`, `#!/bin/sh\n${script}\n`);
    await chmod(`${folder}/bin/${name}`, 0o755);
  }
  return { PATH: `${folder}/bin`, HOME: folder };
}

test("B4: apptainer is preferred, then singularity", async () => {
  await using both = await tempFolder();
  const found = await requireProgram(
    await programs(both.path, { apptainer: "echo 1", singularity: "echo 2" }),
    neverAborted,
  );
  expect(found.binary).toBe("apptainer");
  await using one = await tempFolder();
  expect(
    (await requireProgram(await programs(one.path, { singularity: "echo 2" }), neverAborted)).binary,
  ).toBe("singularity");
});

test("B4: if neither is installed, the error has a hint", async () => {
  await using none = await tempFolder();
  await expect(requireProgram(await programs(none.path, {}), neverAborted)).rejects.toMatchObject({
    code: "sandbox-unavailable",
    message: expect.stringContaining("Neither apptainer nor singularity"),
    hint: expect.stringContaining("Install"),
  });
});

test("a program that fails is reported with its own message, and no other program is tried", async () => {
  await using folder = await tempFolder();
  const variables = await programs(folder.path, {
    apptainer: "echo no config >&2; exit 255",
    singularity: "echo 2",
  });
  await expect(requireProgram(variables, neverAborted)).rejects.toMatchObject({
    code: "sandbox-unavailable",
    message: expect.stringContaining("no config"),
  });
});

test("B4: a version check that hangs is ended after ten seconds and reported", async () => {
  await using folder = await tempFolder();
  const variables = await programs(folder.path, { apptainer: "exec /bin/sleep 300" });
  await expect(requireProgram(variables, neverAborted)).rejects.toMatchObject({
    code: "sandbox-unavailable",
    message: expect.stringMatching(/no answer within \d+ s/), // at least 10; more on a busy machine,
  });
});

test("the program gets the variables for its own folders, and no other variables of the host", async () => {
  await using folder = await tempFolder();
  const own = await programs(folder.path, { apptainer: "echo 1" });
  const { env } = await requireProgram(
    {
      ...own,
      APPTAINER_CONFIGDIR: "/c",
      APPTAINER_BIND: "/:/host",
      APPTAINERENV_X: "1",
      OPENAI_API_KEY: "1",
    },
    neverAborted,
  );
  const seen = Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  expect(seen.toSorted()).toEqual(["APPTAINER_CONFIGDIR", "HOME", "PATH"]);
});
