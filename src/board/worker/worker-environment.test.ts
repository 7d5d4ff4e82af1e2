import { expect, test } from "vitest";
import { terminalOptions } from "../../environments/options.ts";
import { createWorkerEnvironment } from "./worker-environment.ts";

const run = { maxRuntimeSeconds: null };
const files = { folder: "/files", taskIds: ["t_own", "t_parent"] };

test("in the local environment commands start in the workspace, which keeps its path", () => {
  const found = createWorkerEnvironment(terminalOptions.parse({ backend: "local" }), run, "/work", files);
  expect(found).toMatchObject({ workspacePath: undefined, options: { cwd: "/work" } });
});

test("a container belongs to one task, even if the profile shares containers, and mounts the workspace", () => {
  for (const backend of ["docker", "podman"])
    expect(createWorkerEnvironment(terminalOptions.parse({ backend }), run, "/work", files)).toMatchObject({
      workspacePath: "/workspace",
      options: { backend, isolation: "task", docker_mount_cwd_to_workspace: true, cwd: "/workspace" },
    });
});

test("environments F28: a container can read the attachments of its task and its parents, and no others", () => {
  const docker = terminalOptions.parse({ backend: "docker", docker_volumes: ["/data:/data"] });
  const { options, attachmentFolderOf } = createWorkerEnvironment(docker, run, "/work", files);
  expect(options.docker_volumes).toEqual([
    "/data:/data",
    "/files/t_own:/attachments/t_own:ro",
    "/files/t_parent:/attachments/t_parent:ro",
  ]);
  expect(["t_own", "t_parent", "t_other"].map((id) => attachmentFolderOf?.(id))).toEqual([
    "/attachments/t_own",
    "/attachments/t_parent",
    undefined,
  ]);
  const odd = createWorkerEnvironment(docker, run, "/work", { ...files, folder: "/a:b" });
  expect(odd.options.docker_volumes).toEqual(["/data:/data"]);
  expect(odd.attachmentFolderOf?.("t_own")).toBeUndefined();
});

test("a volume at /workspace is refused, however it is written; a volume below it is not", () => {
  const withVolume = (volume: string) =>
    createWorkerEnvironment(
      terminalOptions.parse({ backend: "docker", docker_volumes: [volume] }),
      run,
      "/w",
      files,
    );
  expect(() => withVolume("/data:/workspace/:ro")).toThrow(
    "terminal.docker_volumes mounts /data:/workspace/:ro",
  );
  expect(withVolume("/data:/workspace/data").workspacePath).toBe("/workspace");
});

test("board C2: commands may take as long as the run minus a margin, but at least as long as the settings allow", () => {
  const options = terminalOptions.parse({ backend: "local", timeout: 100, max_foreground_timeout: 200 });
  const limits = (maxRuntimeSeconds: number | null) => {
    const { timeout, max_foreground_timeout } = createWorkerEnvironment(
      options,
      { maxRuntimeSeconds },
      "/w",
      files,
    ).options;
    return [timeout, max_foreground_timeout];
  };
  expect(limits(null)).toEqual([100, 200]);
  expect(limits(60)).toEqual([100, 200]);
  expect(limits(3_630)).toEqual([3_600, 3_600]);
});
