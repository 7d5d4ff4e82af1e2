import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { findEngine } from "./find-engine.ts";

async function makeProgram(path: string, mode = 0o755): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, "#!/bin/sh\n", { mode });
  return path;
}

describe("findEngine", () => {
  const choice = { backend: "docker", binary: "" } as const;

  it("takes docker on the PATH before podman, wherever the two stand", async () => {
    await using temp = await tempFolder();
    await makeProgram(temp.file("a/podman"));
    const docker = await makeProgram(temp.file("b/docker"));
    const variables = { PATH: `${temp.file("a")}:${temp.file("b")}` };
    expect((await findEngine({ ...choice, variables })).binary).toBe(docker);
  });

  it("takes podman when there is no docker, and passes over what is no program", async () => {
    await using temp = await tempFolder();
    await makeProgram(temp.file("a/docker"), 0o644);
    await mkdir(temp.file("b/docker"), { recursive: true });
    const podman = await makeProgram(temp.file("b/podman"));
    const variables = { PATH: `${temp.file("a")}:${temp.file("b")}` };
    expect((await findEngine({ ...choice, variables })).binary).toBe(podman);
  });

  it("takes only podman when that is the backend", async () => {
    await using temp = await tempFolder();
    await makeProgram(temp.file("docker"));
    const podman = await makeProgram(temp.file("podman"));
    const engine = await findEngine({ backend: "podman", binary: "", variables: { PATH: temp.path } });
    expect(engine.binary).toBe(podman);
  });

  it("takes what the settings name before anything on the PATH, and hands all variables on", async () => {
    await using temp = await tempFolder();
    await makeProgram(temp.file("path/docker"));
    const binary = await makeProgram(temp.file("own"));
    const variables = { PATH: temp.file("path"), DOCKER_HOST: "ssh://far", DOCKER_CONTEXT: "c" };
    const engine = await findEngine({ ...choice, binary, variables });
    expect(engine.binary).toBe(binary);
    expect(engine.env).toEqual(variables);
  });

  it("asks the engine over its socket only where it is sure which one the client asks", async () => {
    await using temp = await tempFolder();
    const docker = await makeProgram(temp.file("docker"));
    await makeProgram(temp.file("other/podman"));
    const hasSocket = async (variables: Record<string, string>, binary = "") => {
      const found = await findEngine({
        ...choice,
        binary,
        variables: { PATH: temp.path, HOME: temp.path, ...variables },
      });
      return found.socket !== undefined;
    };
    expect(await hasSocket({})).toBe(true);
    expect(await hasSocket({ DOCKER_HOST: "unix:///some/docker.sock", DOCKER_CONTEXT: "unused" })).toBe(true);
    expect(await hasSocket({ DOCKER_HOST: "ssh://far" })).toBe(false);
    expect(await hasSocket({ DOCKER_CONTEXT: "far" })).toBe(false);
    expect(await hasSocket({ PATH: temp.file("other") })).toBe(false);
    expect(await hasSocket({}, docker)).toBe(false);
    await mkdir(temp.file(".docker"));
    await writeFile(temp.file(".docker/config.json"), '{"currentContext":"far"}');
    expect(await hasSocket({})).toBe(false);
  });

  it("refuses a setting that names no program, even with docker on the PATH", async () => {
    await using temp = await tempFolder();
    await makeProgram(temp.file("docker"));
    const binary = await makeProgram(temp.file("notes.txt"), 0o644);
    await expect(findEngine({ ...choice, binary, variables: { PATH: temp.path } })).rejects.toMatchObject({
      code: "sandbox-unavailable",
      message: expect.stringContaining(binary),
      hint: expect.stringContaining("terminal.docker_binary"),
    });
  });

  it("F70: says how to get one when there is none", async () => {
    await using temp = await tempFolder();
    await expect(
      findEngine({ backend: "podman", binary: "", variables: { PATH: join(temp.path, "empty") } }),
    ).rejects.toMatchObject({ code: "sandbox-unavailable", hint: expect.stringContaining("Install") });
  });
});
