import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { startHint } from "./start-hint.ts";

test("the hint names the switch of the kernel that forbids namespaces, to those whom it concerns", async () => {
  await using folder = await tempFolder();
  const path = folder.file("max_user_namespaces");
  await writeFile(path, "0\n");
  const place = { asRoot: false, overlayFolder: "/o" };
  expect(await startHint(place, "apptainer", [[path, "0"]])).toContain(`${path} is 0`);
  expect(await startHint({ ...place, asRoot: true }, "apptainer", [[path, "0"]])).not.toContain(path);
  await writeFile(path, "1000\n");
  const hint = await startHint(place, "apptainer", [
    [path, "0"],
    [folder.file("missing"), "0"],
  ]);
  expect(hint).toContain("terminal.container_persistent");
  expect(await startHint({ ...place, overlayFolder: undefined }, "apptainer", [])).not.toContain(
    "persistent",
  );
});
