import { expect, it } from "vitest";
import { testHost, testOptions } from "../../../../test/support/docker.ts";
import { recordUnsupported } from "../spec/capabilities.ts";
import { createSandboxSpec } from "../spec/sandbox-spec.ts";
import { createEngine } from "./engine.ts";
import { parseEngineInfo } from "./engine-info.ts";

/** The `info` of Podman 4.3, reduced to the fields that are read. */
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
  if (info === undefined) throw new Error("not a description of an engine");
  const identity = { profile: "p", profileId: "id", task: "t" };
  const { spec } = await createSandboxSpec(testOptions("image"), identity, testHost("/nowhere"));
  const engine = createEngine("podman", {});
  const notices: string[] = [];
  recordUnsupported(engine, info, spec, {
    onNotice: (text) => notices.push(text),
    onProgress: () => undefined,
  });
  return { lacking: [...engine.cache.missingCapabilities], notices };
}

it("F13: parses the `info` format of Podman", () => {
  expect(parseEngineInfo(ROOTFUL)).toEqual({
    storageDriver: "overlay",
    backingFileSystem: "extfs",
    cpus: 2,
    limits: { cpus: true, memory: true, pids: true },
    runtimes: undefined,
    rootless: false,
  });
});

it("F13: a rootless engine without limits is reported, limit by limit", async () => {
  expect(await noticesOf(ROOTFUL)).toEqual({ lacking: [], notices: [] });
  const { lacking, notices } = await noticesOf(ROOTLESS);
  expect(lacking).toEqual(["cpus", "memory", "pids"]);
  expect(notices).toEqual([
    expect.stringContaining("The engine is rootless"),
    expect.stringContaining("terminal.container_cpu is not applied"),
    expect.stringContaining("terminal.container_memory is not applied"),
    expect.stringContaining("terminal.docker_pids_limit is not applied"),
  ]);
});

it("F13: rootless Docker is recognised by its security options", () => {
  const info = {
    Driver: "overlay2",
    NCPU: 4,
    SecurityOptions: ["name=seccomp,profile=default", "name=rootless"],
  };
  expect(parseEngineInfo(info)).toMatchObject({ rootless: true, storageDriver: "overlay2", cpus: 4 });
  expect(parseEngineInfo({ ...info, SecurityOptions: null })?.rootless).toBe(false);
  expect(parseEngineInfo("nonsense")).toBeUndefined();
});
