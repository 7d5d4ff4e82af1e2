import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { createStartHint } from "./start-hint.ts";

test("for ordinary users, the hint names the kernel setting that forbids namespaces", async () => {
  await using folder = await tempFolder();
  const path = folder.file("max_user_namespaces");
  await writeFile(path, "0\n");
  const spec = { asRoot: false, overlayFolder: "/o" };
  expect(await createStartHint(spec, "apptainer", [[path, "0"]])).toContain(`${path} is 0`);
  expect(await createStartHint({ ...spec, asRoot: true }, "apptainer", [[path, "0"]])).not.toContain(path);
  await writeFile(path, "1000\n");
  const hint = await createStartHint(spec, "apptainer", [
    [path, "0"],
    [folder.file("missing"), "0"],
  ]);
  expect(hint).toContain("terminal.container_persistent");
  expect(await createStartHint({ ...spec, overlayFolder: undefined }, "apptainer", [])).not.toContain(
    "persistent",
  );
});
