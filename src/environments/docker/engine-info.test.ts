import { expect, it } from "vitest";
import { testHost, testOptions } from "../../../test/support/docker.ts";
import { noteInfo } from "./capabilities.ts";
import { createEngine } from "./engine.ts";
import { parseEngineInfo } from "./engine-info.ts";
import { createSandboxSpec } from "./sandbox-spec.ts";

/** As podman 4.3 describes itself, cut to what is read. */
const podman = (host: object) => ({
  host: { arch: "amd64", cgroupVersion: "v1", cpus: 2, ...host },
  store: { graphDriverName: "overlay", graphStatus: { "Backing Filesystem": "extfs" } },
});
const ROOTFUL = podman({
  cgroupControllers: ["cpuset", "cpu", "cpuacct", "memory", "pids"],
  security: { rootless: false },
});
const ROOTLESS = podman({ cgroupControllers: [], security: { rootless: true } });

async function noticesOf(description: object): Promise<{ lacking: string[]; notices: string[] }> {
  const info = parseEngineInfo(description);
  if (info === undefined) throw new Error("that is no description");
  const identity = { profile: "p", profileId: "id", task: "t" };
  const { spec } = await createSandboxSpec(testOptions("image"), identity, testHost("/nowhere"));
  const engine = createEngine("podman", {});
  const notices: string[] = [];
  noteInfo(engine, info, spec, { onNotice: (text) => notices.push(text), onProgress: () => undefined });
  return { lacking: [...engine.memory.lacking], notices };
}

it("F13: podman's description of itself is read in its own words", () => {
  expect(parseEngineInfo(ROOTFUL)).toEqual({
    storageDriver: "overlay",
    backingFileSystem: "extfs",
    cpus: 2,
    limits: { cpus: true, memory: true, pids: true },
    runtimes: undefined,
    rootless: false,
  });
});

it("F13: an engine without root that cannot limit anything says so, limit by limit", async () => {
  expect(await noticesOf(ROOTFUL)).toEqual({ lacking: [], notices: [] });
  const { lacking, notices } = await noticesOf(ROOTLESS);
  expect(lacking).toEqual(["cpus", "memory", "pids"]);
  expect(notices).toEqual([
    expect.stringContaining("runs without root"),
    expect.stringContaining("terminal.container_cpu is not applied"),
    expect.stringContaining("terminal.container_memory is not applied"),
    expect.stringContaining("terminal.docker_pids_limit is not applied"),
  ]);
});

it("F13: docker without root is known by its security options", () => {
  const said = {
    Driver: "overlay2",
    NCPU: 4,
    SecurityOptions: ["name=seccomp,profile=default", "name=rootless"],
  };
  expect(parseEngineInfo(said)).toMatchObject({ rootless: true, storageDriver: "overlay2", cpus: 4 });
  expect(parseEngineInfo({ ...said, SecurityOptions: null })?.rootless).toBe(false);
  expect(parseEngineInfo("nonsense")).toBeUndefined();
});
