import { expect, test } from "vitest";
import { terminalOptions } from "../../environments/options.ts";
import { createWorkerEnvironment } from "./worker-environment.ts";

const run = { maxRuntimeSeconds: null };

test("on this machine commands start in the workspace, which keeps its name", () => {
  const found = createWorkerEnvironment(terminalOptions.parse({ backend: "local" }), run, "/work");
  expect(found).toMatchObject({ seenAs: undefined, options: { cwd: "/work" } });
});

test("a container is the task's own, also where the profile shares one, and has the workspace in it", () => {
  for (const backend of ["docker", "podman"])
    expect(createWorkerEnvironment(terminalOptions.parse({ backend }), run, "/work")).toMatchObject({
      seenAs: "/workspace",
      options: { backend, isolation: "task", docker_mount_cwd_to_workspace: true, cwd: "/workspace" },
    });
});

test("a volume at /workspace is refused, however it is written; one below it is not", () => {
  const withVolume = (volume: string) =>
    createWorkerEnvironment(
      terminalOptions.parse({ backend: "docker", docker_volumes: [volume] }),
      run,
      "/w",
    );
  expect(() => withVolume("/data:/workspace/:ro")).toThrow(
    "terminal.docker_volumes puts /data:/workspace/:ro",
  );
  expect(withVolume("/data:/workspace/data").seenAs).toBe("/workspace");
});

test("board C2: commands may take as long as the run has, less a margin, and never less than the settings say", () => {
  const options = terminalOptions.parse({ backend: "local", timeout: 100, max_foreground_timeout: 200 });
  const limits = (maxRuntimeSeconds: number | null) => {
    const { timeout, max_foreground_timeout } = createWorkerEnvironment(
      options,
      { maxRuntimeSeconds },
      "/w",
    ).options;
    return [timeout, max_foreground_timeout];
  };
  expect(limits(null)).toEqual([100, 200]);
  expect(limits(60)).toEqual([100, 200]);
  expect(limits(3_630)).toEqual([3_600, 3_600]);
});
