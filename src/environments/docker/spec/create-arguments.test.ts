import { describe, expect, it } from "vitest";
import { testHost, testOptions } from "../../../../test/support/docker.ts";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import type { TerminalOptions } from "../../options.ts";
import { type CreateFacts, createArguments } from "./create-arguments.ts";
import { createSandboxSpec } from "./sandbox-spec.ts";

const FACTS: CreateFacts = { missingCapabilities: new Set(), engineCpus: 8, s6: false };

async function call(options: Partial<TerminalOptions> = {}, facts: Partial<CreateFacts> = {}) {
  await using temp = await tempFolder();
  const identity = { profile: "p", profileId: "id", task: "t" };
  const { spec } = await createSandboxSpec(testOptions("image", options), identity, testHost(temp.path));
  return createArguments(spec, spec.name, "creation", { ...FACTS, ...facts });
}

/** The values of a flag, in order. */
function valuesOf(args: readonly string[], flag: string): string[] {
  return args.flatMap((argument, index) => (argument === flag ? [args[index + 1] ?? ""] : []));
}

describe("createArguments", () => {
  it("drops every capability but five, or but three for the host's user", async () => {
    const { args } = await call();
    expect(valuesOf(args, "--cap-drop")).toEqual(["ALL"]);
    expect(valuesOf(args, "--cap-add")).toEqual(["DAC_OVERRIDE", "CHOWN", "FOWNER", "SETUID", "SETGID"]);
    expect(valuesOf(args, "--security-opt")).toEqual(["no-new-privileges"]);
    const asUser = (await call({ docker_run_as_host_user: true })).args;
    expect(valuesOf(asUser, "--cap-add")).toEqual(["DAC_OVERRIDE", "CHOWN", "FOWNER"]);
    expect(valuesOf(asUser, "--user")).toEqual(["1234:2345"]);
  });

  it("orders the arguments: security, user, own mounts, limits, volumes, variables, extra arguments, image", async () => {
    const { args } = await call({
      docker_run_as_host_user: true,
      docker_volumes: ["cache:/cache"],
      docker_env: { A: "1" },
      docker_extra_args: ["--gpus=all"],
    });
    const order = [
      "--cap-drop",
      "--user",
      "--tmpfs",
      "--cpus",
      "type=volume,source=cache,target=/cache",
      "--env",
      "--gpus=all",
      "image",
    ];
    const positions = order.map((word) => args.indexOf(word));
    expect(positions).toEqual(positions.toSorted((a, b) => a - b));
    expect(positions).not.toContain(-1);
    expect(args.slice(args.indexOf("image") + 1)).toEqual(["-c", expect.any(String), "hermes-keeper"]);
    expect(valuesOf(args, "--entrypoint")).toEqual(["sh"]);
  });

  it("F3: the setting limits the number of processes, and 0 means no limit", async () => {
    expect(valuesOf((await call()).args, "--pids-limit")).toEqual(["1024"]);
    expect(valuesOf((await call({ docker_pids_limit: 77 })).args, "--pids-limit")).toEqual(["77"]);
    expect((await call({ docker_pids_limit: 0 })).args).not.toContain("--pids-limit");
  });

  it("sets no more CPUs than the engine has, because the engine would refuse them", async () => {
    expect(valuesOf((await call({ container_cpu: 16 })).args, "--cpus")).toEqual(["8"]);
    expect(valuesOf((await call({ container_cpu: 0.5 })).args, "--cpus")).toEqual(["0.5"]);
    expect((await call({ container_cpu: 0, container_memory: 0 })).args).not.toContain("--cpus");
  });

  it("omits the flags that the engine lacks", async () => {
    const all = [
      "--cpus",
      "--memory",
      "--pids-limit",
      "--shm-size",
      "--storage-opt",
      "--init",
      "--security-opt",
    ];
    const missingCapabilities = new Set([
      "cpus",
      "memory",
      "pids",
      "shm",
      "disk",
      "init",
      "no-new-privileges",
    ] as const);
    const options = { container_disk: 100 };
    expect((await call(options)).args).toEqual(expect.arrayContaining(all));
    const { args } = await call(options, { missingCapabilities });
    expect(all.filter((flag) => args.includes(flag))).toEqual([]);
  });

  it("F15: omits init and no-new-privileges for the snap build", async () => {
    const { args } = await call({ docker_snap_compat: true });
    expect(args).not.toContain("--init");
    expect(args).not.toContain("no-new-privileges");
  });

  it("F16: an image with the s6 supervisor gets no second init, and may run programs from /run", async () => {
    const plain = (await call()).args;
    expect(plain).toContain("--init");
    expect(valuesOf(plain, "--tmpfs")).toContain("/run:rw,noexec,nosuid,size=64m");
    const s6 = (await call({}, { s6: true })).args;
    expect(s6).not.toContain("--init");
    expect(valuesOf(s6, "--tmpfs")).toContain("/run:rw,exec,nosuid,size=64m");
  });

  it("sets `--network none` once, even when the extra arguments contain it", async () => {
    expect(valuesOf((await call()).args, "--network")).toEqual(["none"]);
    expect(valuesOf((await call({ docker_extra_args: ["--network", "none"] })).args, "--network")).toEqual([
      "none",
    ]);
    expect((await call({ docker_extra_args: ["--net=none"] })).args).not.toContain("--network");
    expect((await call({ docker_network: true })).args).not.toContain("--network");
  });

  it.each(["", "0"])("leaves /dev/shm to the engine for %j", async (docker_shm_size) => {
    expect((await call({ docker_shm_size })).args).not.toContain("--shm-size");
  });

  it("leaves /dev/shm to the extra arguments", async () => {
    expect((await call({ docker_extra_args: ["--shm-size=2g"] })).args).not.toContain("--shm-size");
    expect(valuesOf((await call()).args, "--shm-size")).toEqual(["1g"]);
  });

  it("F69: passes runtime and read-only root on", async () => {
    const { args } = await call({ docker_runtime: "runsc", docker_read_only: true });
    expect(valuesOf(args, "--runtime")).toEqual(["runsc"]);
    expect(args).toContain("--read-only");
    const plain = (await call()).args;
    expect(plain).not.toContain("--runtime");
    expect(plain).not.toContain("--read-only");
  });

  it("F31: the arguments contain no value of a variable", async () => {
    const { args, variables, stdin } = await call({
      docker_env: { KEY: "value-one", HOME: "value-two", DOCKER_HOST: "value-three", TEXT: "value\nfour" },
    });
    expect(args.join(" ")).not.toContain("value-");
    expect(valuesOf(args, "--env")).toEqual(["KEY", "TEXT"]);
    expect(variables).toEqual({ KEY: "value-one", TEXT: "value\nfour" });
    // These two would change the behaviour of the client.
    expect(stdin).toBe("HOME=value-two\nDOCKER_HOST=value-three\n");
    expect(valuesOf(args, "--env-file")).toEqual(["/dev/stdin"]);
  });

  it("F18: quotes paths with commas and quotes, so that each stays one field", async () => {
    await using temp = await tempFolder();
    const host = { ...testHost(temp.path), sandboxesFolder: '/a,b/c"d' };
    const identity = { profile: "p", profileId: "id", task: "t" };
    const { spec } = await createSandboxSpec(testOptions("image"), identity, host);
    const { args } = createArguments(spec, spec.name, "creation", FACTS);
    expect(valuesOf(args, "--mount")[0]).toMatch(
      /^type=bind,"source=\/a,b\/c""d\/docker\/t-[0-9a-f]{12}\/home",target=\/root$/,
    );
  });

  it("uses `--volume` for options that `--mount` does not support", async () => {
    const { args } = await call({ docker_volumes: ["cache:/cache:ro,z"] });
    expect(valuesOf(args, "--volume")).toEqual(["cache:/cache:ro,z"]);
  });
});
