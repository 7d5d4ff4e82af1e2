import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { findEngine } from "./find-engine.ts";

async function makeProgram(path: string, mode = 0o755): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, "#!/bin/sh\n", { mode });
  return path;
}

describe("findEngine", () => {
  const choice = { backend: "docker", binary: "" } as const;

  it("prefers docker to podman, in any order on the PATH", async () => {
    await using temp = await tempFolder();
    await makeProgram(temp.file("a/podman"));
    const docker = await makeProgram(temp.file("b/docker"));
    const variables = { PATH: `${temp.file("a")}:${temp.file("b")}` };
    expect((await findEngine({ ...choice, variables })).binary).toBe(docker);
  });

  it("uses podman when docker is missing, and skips files that are not executable", async () => {
    await using temp = await tempFolder();
    await makeProgram(temp.file("a/docker"), 0o644);
    await mkdir(temp.file("b/docker"), { recursive: true });
    const podman = await makeProgram(temp.file("b/podman"));
    const variables = { PATH: `${temp.file("a")}:${temp.file("b")}` };
    expect((await findEngine({ ...choice, variables })).binary).toBe(podman);
  });

  it("uses only podman when that is the backend", async () => {
    await using temp = await tempFolder();
    await makeProgram(temp.file("docker"));
    const podman = await makeProgram(temp.file("podman"));
    const engine = await findEngine({ backend: "podman", binary: "", variables: { PATH: temp.path } });
    expect(engine.binary).toBe(podman);
  });

  it("prefers the program from the settings to the PATH, and passes on all variables", async () => {
    await using temp = await tempFolder();
    await makeProgram(temp.file("path/docker"));
    const binary = await makeProgram(temp.file("own"));
    const variables = { PATH: temp.file("path"), DOCKER_HOST: "ssh://far", DOCKER_CONTEXT: "c" };
    const engine = await findEngine({ ...choice, binary, variables });
    expect(engine.binary).toBe(binary);
    expect(engine.env).toEqual(variables);
  });

  it("uses the socket only where the client certainly uses the same engine", async () => {
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

  it("refuses a setting that does not name a program, even with docker on the PATH", async () => {
    await using temp = await tempFolder();
    await makeProgram(temp.file("docker"));
    const binary = await makeProgram(temp.file("notes.txt"), 0o644);
    await expect(findEngine({ ...choice, binary, variables: { PATH: temp.path } })).rejects.toMatchObject({
      code: "sandbox-unavailable",
      message: expect.stringContaining(binary),
      hint: expect.stringContaining("terminal.docker_binary"),
    });
  });

  it("F70: the error names the next steps when no engine is installed", async () => {
    await using temp = await tempFolder();
    await expect(
      findEngine({ backend: "podman", binary: "", variables: { PATH: join(temp.path, "empty") } }),
    ).rejects.toMatchObject({ code: "sandbox-unavailable", hint: expect.stringContaining("Install") });
  });
});
