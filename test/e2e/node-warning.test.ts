import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempHome } from "../support/hermes.ts";
import { tempFolder } from "../support/temp-folder.ts";

const WARNING = /Node warned in a process that a test started: .*MaxListenersExceededWarning/;

test("a test fails if Node warns in a program that the test started", async () => {
  await using home = await tempHome();
  const leak = join(home.folder, "leak.cjs");
  await writeFile(leak, "for (let n = 0; n < 20; n++) process.on('exit', () => undefined);");
  const leaking = home.hermes(["--version"], { env: { NODE_OPTIONS: `--require ${leak}` } });
  await expect(leaking).rejects.toThrow(WARNING);
  expect(await home.hermes(["--version"])).toMatchObject({ exitCode: 0, stderr: "" });
});

test("a test fails if a log in its folder contains a Node warning", async () => {
  const folder = await tempFolder();
  await writeFile(
    folder.file("worker.log"),
    "begins\n(node:12) MaxListenersExceededWarning: Possible leak\n",
  );
  await expect(folder[Symbol.asyncDispose]()).rejects.toThrow(WARNING);
});
