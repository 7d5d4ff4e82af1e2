import { writeFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { describeWith } from "../../../test/support/services.ts";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { createEngine } from "./engine.ts";
import { parseKind, requireKind } from "./require-kind.ts";

const never = new AbortController().signal;

async function check(binary: string, backend: "docker" | "podman"): Promise<string[]> {
  const notices: string[] = [];
  const reporter = { onNotice: (text: string) => void notices.push(text), onProgress: () => undefined };
  await requireKind(createEngine(binary, process.env), backend, reporter, never);
  return notices;
}

describeWith("docker", "requireKind, with docker", ({ client }) => {
  it("F13: podman that is docker is refused, with what to change", async () => {
    await expect(check(client, "podman")).rejects.toMatchObject({
      code: "sandbox-refused",
      message: expect.stringMatching(/HERMES_DOCKER_BINARY.*is docker/),
    });
    expect(await check(client, "docker")).toEqual([]);
  });
});

describeWith("podman", "requireKind, with podman", ({ client }) => {
  it("F13: docker that is podman works, and is told", async () => {
    expect(await check(client, "docker")).toEqual([expect.stringContaining("is podman")]);
    expect(await check(client, "podman")).toEqual([]);
  });
});

it("F13: a program is what it says, whatever it is called", async () => {
  await using folder = await tempFolder();
  const path = folder.file("podman");
  await writeFile(path, "#!/bin/sh\necho Docker version 28.2.2, build e6534b4\n", { mode: 0o755 });
  await expect(check(path, "podman")).rejects.toMatchObject({ code: "sandbox-refused" });
  expect(parseKind("podman version 4.3.1\n")).toBe("podman");
  expect(parseKind("nerdctl version 2.0.0\n")).toBeUndefined();
});
