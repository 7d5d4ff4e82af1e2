import { readFile, writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { describeWith } from "../../../../test/support/services.ts";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { neverAborted } from "../../../lib/time/never-aborted.ts";
import { createEngine } from "./engine.ts";
import { requireEngine } from "./require-engine.ts";

/** A client that is a shell script. */
async function createScriptedEngine(path: string, script: string, env: Record<string, string> = {}) {
  await writeFile(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return createEngine(path, { PATH: process.env["PATH"], ...env });
}

const answer = (version: string) => `echo '{"Client":{"Version":"28.0"},"Server":{"Version":"${version}"}}'`;

describe("requireEngine", () => {
  it("F70: tries again when the first call times out", async () => {
    await using temp = await tempFolder();
    const first = temp.file("first");
    const engine = await createScriptedEngine(
      temp.file("client"),
      `[ -e ${first} ] || { touch ${first}; exec sleep 600; }\n${answer("24.0.1")}`,
    );
    expect(await requireEngine(engine, neverAborted)).toEqual({ kind: "docker", version: "24.0.1" });
  });

  it("F70: an engine that hangs has its own error, with its output", async () => {
    await using temp = await tempFolder();
    const calls = temp.file("calls");
    const engine = await createScriptedEngine(
      temp.file("client"),
      `echo >> ${calls}; echo still waiting >&2; exec sleep 600`,
    );
    await expect(requireEngine(engine, neverAborted)).rejects.toMatchObject({
      code: "sandbox-unavailable",
      message: expect.stringMatching(/hangs.*still waiting/),
      hint: expect.stringContaining("Restart"),
    });
    expect(await readFile(calls, "utf8")).toBe("\n\n");
  });

  it("F70: an engine that is down has its own error, with its output", async () => {
    await using temp = await tempFolder();
    const engine = await createScriptedEngine(temp.file("client"), "echo no daemon here >&2; exit 1", {
      DOCKER_HOST: `unix://${temp.file("socket")}`,
    });
    await expect(requireEngine(engine, neverAborted)).rejects.toMatchObject({
      message: expect.stringMatching(/cannot be reached.*no daemon here/),
      hint: expect.stringContaining("Start it"),
    });
  });

  it("F70: the error names the address of a remote engine", async () => {
    await using temp = await tempFolder();
    const engine = await createScriptedEngine(temp.file("client"), "exit 1", { DOCKER_HOST: "ssh://me@far" });
    await expect(requireEngine(engine, neverAborted)).rejects.toMatchObject({
      hint: expect.stringContaining("ssh://me@far"),
    });
  });

  it.each(["18.09.1", "1.13.1", "19.02.0"])("refuses Docker %s as too old", async (version) => {
    await using temp = await tempFolder();
    const engine = await createScriptedEngine(temp.file("client"), answer(version));
    await expect(requireEngine(engine, neverAborted)).rejects.toMatchObject({
      message: expect.stringContaining(`too old: ${version}`),
      hint: expect.stringContaining("19.03"),
    });
  });

  it("recognises Podman by its answer", async () => {
    await using temp = await tempFolder();
    const engine = await createScriptedEngine(temp.file("client"), `echo '{"Client":{"Version":"4.3.1"}}'`);
    expect(await requireEngine(engine, neverAborted)).toEqual({ kind: "podman", version: "4.3.1" });
  });

  it("refuses a program that is not a container engine", async () => {
    await using temp = await tempFolder();
    const engine = await createScriptedEngine(temp.file("client"), "echo hello");
    await expect(requireEngine(engine, neverAborted)).rejects.toThrow("may not be a container engine");
  });
});

describeWith("docker", "requireEngine", ({ client, host, version }) => {
  it("returns the version of the real engine", async () => {
    const engine = createEngine(client, { ...process.env, DOCKER_HOST: host });
    expect(await requireEngine(engine, neverAborted)).toEqual({ kind: "docker", version });
  });

  it("F70: throws when the socket does not exist", async () => {
    await using temp = await tempFolder();
    const engine = createEngine(client, { ...process.env, DOCKER_HOST: `unix://${temp.file("none")}` });
    await expect(requireEngine(engine, neverAborted)).rejects.toMatchObject({
      code: "sandbox-unavailable",
      message: expect.stringContaining("cannot be reached"),
    });
  });
});
