import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { testHost } from "../../../../test/support/docker.ts";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { createMount, parseVolume, toEnginePath } from "./mounts.ts";
import { parseOwnContainer } from "./own-mounts.ts";

async function machine() {
  const temp = await tempFolder();
  const host = testHost(temp.path);
  for (const folder of [host.cwd, host.userHome, ...host.stateFolders]) await mkdir(folder);
  const mount = (text: string) => {
    const volume = parseVolume(text);
    if (volume === undefined) throw new Error(`${text} is not a volume`);
    return createMount(volume, host);
  };
  return { host, mount, path: temp.path, [Symbol.asyncDispose]: () => temp[Symbol.asyncDispose]() };
}

describe("parseVolume", () => {
  it.each([
    ["/a:/b", { source: "/a", target: "/b", options: [] }],
    ["/a:/b/:ro", { source: "/a", target: "/b", options: ["ro"] }],
    ["/a:/b/../c//d:ro,z", { source: "/a", target: "/c/d", options: ["ro", "z"] }],
    ["cache:/b", { source: "cache", target: "/b", options: [] }],
  ])("parses %s", (text, volume) => {
    expect(parseVolume(text)).toEqual(volume);
  });

  it.each(["/a", "/a:", ":/b", "/a:b", "/a:/b:ro:x"])("returns undefined for %s", (text) => {
    expect(parseVolume(text)).toBeUndefined();
  });
});

describe("createMount", () => {
  it("F20: refuses the whole file system, the home folder and its parents", async () => {
    await using here = await machine();
    for (const source of ["/", "//", here.host.userHome, `${here.host.userHome}/.`, here.path, "/tmp", "~"]) {
      await expect(here.mount(`${source}:/x`), source).rejects.toMatchObject({
        code: "sandbox-mount-refused",
      });
      await expect(here.mount(`${source}:/x:ro`), source).rejects.toMatchObject({
        code: "sandbox-mount-refused",
      });
    }
  });

  it("F20: refuses the folder with our settings, even through a link or an indirect path", async () => {
    await using here = await machine();
    const [state = ""] = here.host.stateFolders;
    await symlink(state, join(here.path, "link"));
    for (const source of [state, join(here.path, "link"), `${here.host.cwd}/../home`]) {
      await expect(here.mount(`${source}:/x`), source).rejects.toMatchObject({
        code: "sandbox-mount-refused",
        message: expect.stringContaining("settings and secrets"),
      });
    }
  });

  it("F20: refuses the target of a link to the folder with our settings, and the parent of an oddly named target", async () => {
    await using here = await machine();
    const real = join(here.path, "elsewhere");
    await mkdir(join(real, "..state"), { recursive: true });
    await symlink(join(real, "..state"), join(here.path, "settings"));
    const host = { ...here.host, stateFolders: [join(here.path, "settings")] };
    for (const source of [real, join(real, "..state")]) {
      const mounting = createMount({ source, target: "/x", options: [] }, host);
      await expect(mounting, source).rejects.toMatchObject({ code: "sandbox-mount-refused" });
    }
  });

  it("F20: allows folders next to and below the refused ones", async () => {
    await using here = await machine();
    const below = join(here.host.userHome, "..project");
    await mkdir(below);
    expect(await here.mount(`${below}:/x`)).toMatchObject({ kind: "bind", source: below });
    expect(await here.mount("~/..project:/x")).toMatchObject({ kind: "bind", source: below });
    await mkdir(join(here.host.cwd, "data"));
    expect(await here.mount("./data:/x:ro")).toMatchObject({
      source: join(here.host.cwd, "data"),
      readOnly: true,
    });
  });

  it("F21: a source that does not exist is an error", async () => {
    await using here = await machine();
    await expect(here.mount(`${here.path}/nowhere:/x`)).rejects.toMatchObject({
      code: "sandbox-mount-refused",
      message: expect.stringContaining("does not exist"),
    });
  });

  it("does not check files when the engine is on another machine", async () => {
    await using here = await machine();
    const host = { ...here.host, remoteEngine: true };
    const volume = { source: "/data/far", target: "/x", options: [] };
    expect(await createMount(volume, host)).toMatchObject({ kind: "bind", source: "/data/far" });
  });

  it("allows a single file, a named volume and options of the short form", async () => {
    await using here = await machine();
    const file = join(here.host.cwd, "file");
    await writeFile(file, "");
    expect(await here.mount(`${file}:/x`)).toMatchObject({ kind: "bind", source: file });
    expect(await here.mount("cache:/x")).toMatchObject({ kind: "volume", source: "cache" });
    expect(await here.mount(`${file}:/x:ro,z`)).toMatchObject({ readOnly: true, options: ["z"] });
  });
});

describe("F29: toEnginePath", () => {
  const mounts = [
    { source: "/srv/data", destination: "/data" },
    { source: "/srv/deep", destination: "/data/deep" },
  ];

  it("returns the engine's path of a path in a container, by the closest mount", () => {
    expect(toEnginePath("/data/a", mounts)).toBe("/srv/data/a");
    expect(toEnginePath("/data/deep/b", mounts)).toBe("/srv/deep/b");
    expect(toEnginePath("/data", mounts)).toBe("/srv/data");
    expect(toEnginePath("/anything", undefined)).toBe("/anything");
  });

  it("refuses a path that exists only in the container", () => {
    expect(() => toEnginePath("/database", mounts)).toThrow("where the engine cannot see it");
  });
});

describe("F29: parseOwnContainer", () => {
  const id = "ab12".repeat(16);

  it("finds the container that Hermes runs in by the mounts of its engine", () => {
    const line = `731 711 8:1 /var/lib/docker/containers/${id}/hostname /etc/hostname rw - ext4 /dev/sda1 rw`;
    expect(parseOwnContainer(`1 2 0:1 / / rw - overlay overlay rw\n${line}\n`)).toBe(id);
  });

  it("ignores the mounts of an engine that runs on the same machine", () => {
    const line = `47 42 0:39 / /var/lib/docker/overlay2/${id}/merged rw - overlay overlay rw,lowerdir=/x/${id}/diff`;
    expect(parseOwnContainer(line)).toBeUndefined();
  });
});
