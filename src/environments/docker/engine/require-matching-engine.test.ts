import { writeFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { describeWith } from "../../../../test/support/services.ts";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { neverAborted } from "../../../lib/time/never-aborted.ts";
import { createEngine } from "./engine.ts";
import { parseEngineKind, requireMatchingEngine } from "./require-matching-engine.ts";

async function check(binary: string, backend: "docker" | "podman"): Promise<string[]> {
  const notices: string[] = [];
  const reporter = { onNotice: (text: string) => void notices.push(text), onProgress: () => undefined };
  await requireMatchingEngine(createEngine(binary, process.env), backend, reporter, neverAborted);
  return notices;
}

describeWith("docker", "requireMatchingEngine, with docker", ({ client }) => {
  it("F13: backend podman with the program docker is refused, with the settings to change", async () => {
    await expect(check(client, "podman")).rejects.toMatchObject({
      code: "sandbox-refused",
      message: expect.stringMatching(/HERMES_DOCKER_BINARY.*is docker/),
    });
    expect(await check(client, "docker")).toEqual([]);
  });
});

describeWith("podman", "requireMatchingEngine, with podman", ({ client }) => {
  it("F13: backend docker with the program podman works, with a notice", async () => {
    expect(await check(client, "docker")).toEqual([expect.stringContaining("is podman")]);
    expect(await check(client, "podman")).toEqual([]);
  });
});

it("F13: the version output decides the kind of a program, not its name", async () => {
  await using folder = await tempFolder();
  const path = folder.file("podman");
  await writeFile(path, "#!/bin/sh\necho Docker version 28.2.2, build e6534b4\n", { mode: 0o755 });
  await expect(check(path, "podman")).rejects.toMatchObject({ code: "sandbox-refused" });
  expect(parseEngineKind("podman version 4.3.1\n")).toBe("podman");
  expect(parseEngineKind("nerdctl version 2.0.0\n")).toBeUndefined();
});
