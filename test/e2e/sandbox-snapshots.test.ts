import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test, vi } from "vitest";
import { tempHome } from "../support/hermes.ts";
import { scale } from "../support/scale.ts";
import { describeWith } from "../support/services.ts";

const run = promisify(execFile);

vi.setConfig({ testTimeout: 600_000 }); // two dozen runs of the program, one after the other

interface Engine {
  readonly backend: "docker" | "podman";
  readonly client: string;
  readonly image: string;
  readonly env: Readonly<Record<string, string>>;
}

/** A home whose containers and images are removed at the end. */
async function openHome({ backend, client: binary, image, env: engine }: Engine) {
  const home = await tempHome();
  const env = {
    ...engine,
    HERMES_DOCKER_BINARY: binary,
    TERMINAL_ENV: backend,
    TERMINAL_DOCKER_IMAGE: image,
    TERMINAL_DOCKER_NETWORK: "off",
    TERMINAL_CONTAINER_DISK: "0",
    TERMINAL_DOCKER_ORPHAN_REAPER: "off",
  };
  const hermes = (args: string[]) => home.hermes(args, { env });
  const sandbox = (...args: string[]) => hermes(["sandbox", ...args]);
  const client = async (...args: string[]) =>
    (await run(binary, args, { env: { ...process.env, ...engine } })).stdout.trim();
  return {
    hermes,
    sandbox,
    client,
    async exec(task: string, command: string) {
      const { exitCode, stdout, stderr } = await sandbox("exec", "--task", task, "--", command);
      expect(exitCode, stderr).toBe(0);
      return stdout.trim();
    },
    async json<Value>(...args: string[]): Promise<Value> {
      const result = await sandbox(...args, "--json");
      expect(result.exitCode, result.stderr + result.stdout).toBe(0);
      return result.json<Value>();
    },
    async [Symbol.asyncDispose]() {
      for (const { name } of (await sandbox("list", "--json")).json<{ name: string }[]>()) {
        await client("rm", "-f", "-v", name);
      }
      await sandbox("prune", "--all");
      await home[Symbol.asyncDispose]();
    },
  };
}

function journeys(engine: Engine) {
  const isWhole = engine.backend === "docker" || scale.repeatedSnapshotSteps;

  test("G8, G10: a snapshot is taken, listed, forked, restored and pruned", async () => {
    await using home = await openHome(engine);
    await home.exec(
      "default",
      "echo system > /etc/mark; echo work > /workspace/mark; echo scratch > /tmp/mark",
    );
    const taken = await home.json<{ id: string; size_bytes: number }>("snapshot", "--name", "first");
    expect(await home.json("snapshots")).toMatchObject([
      { id: taken.id, name: "first", task: "default", state: "whole", used_by: [] },
    ]);
    expect(taken.size_bytes).toBeGreaterThan(0);

    await home.exec("default", "echo later > /etc/mark; rm /workspace/mark");
    const read = "cat /etc/mark /workspace/mark /tmp/mark";
    const forked = await home.json<{ id: string; duration_ms: number }>(
      "fork",
      "copy",
      "--snapshot",
      "first",
    );
    expect(await home.exec("copy", read)).toBe("system\nwork\nscratch");
    const listed = await home.json<{ id: string; task: string; drift: unknown[]; origin: string }[]>("list");
    expect(listed.find(({ task }) => task === "copy")).toMatchObject({
      id: forked.id,
      drift: [],
      origin: taken.id,
      files_bytes: expect.any(Number),
    });
    if (isWhole) {
      await home.json("fork", "second");
      expect(await home.exec("second", "cat /etc/mark; ls /workspace")).toBe("later");
    }

    const asked = await home.sandbox("restore", "first");
    expect(asked).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("--yes") });
    expect(await home.exec("default", "cat /etc/mark")).toBe("later");
    const { before } = await home.json<{ before: string }>("restore", "first", "--yes");
    expect(await home.exec("default", read)).toBe("system\nwork\nscratch");
    if (isWhole) {
      await home.json("restore", before, "--yes");
      expect(await home.exec("default", "cat /etc/mark")).toBe("later");
    }

    const dry = await home.json<{ name: string; action: string }[]>("prune", "--all", "--dry-run");
    expect(dry.find(({ name }) => name === "first")).toMatchObject({ action: "kept" }); // the copy was created from it
    await home.sandbox("rm", "--task", "copy", "--force");
    if (isWhole) await home.sandbox("rm", "--task", "second", "--force");
    await home.sandbox("rm", "--force");
    const gone = await home.json<{ state: string; action: string }[]>("gc");
    expect(gone.filter(({ state }) => state === "image")).toMatchObject(
      isWhole ? [{ action: "removed" }] : [],
    );
    await home.hermes(["profile", "create", "other"]);
    const others = await home.hermes(["-p", "other", "sandbox", "prune", "--all", "--json"]);
    expect(others.json()).toEqual([]); // snapshots of another profile are not listed
    expect(await home.json("prune", "first")).toMatchObject([{ name: "first", action: "removed" }]);
    expect(await home.json("snapshots")).not.toContainEqual(expect.objectContaining({ name: "first" }));
    expect(await home.json("snapshots")).toContainEqual(expect.objectContaining({ id: before }));
    await home.json("prune", "--all");
    expect(await home.json("snapshots")).toEqual([]);
    const left = await home.client("images", "--filter", "label=hermes-snapshot", "--format", "{{.Tag}}");
    expect(left.split("\n")).not.toContain(taken.id);
  });
}

describeWith("docker", "hermes sandbox snapshot, with docker", (service) => {
  const engine: Engine = {
    backend: "docker",
    client: service.client,
    image: service.images.bash,
    env: { DOCKER_HOST: service.host },
  };
  journeys(engine);

  test("G8: mistakes are reported with what to do instead", async () => {
    await using home = await openHome(engine);
    await home.exec("default", "true");
    await home.json("snapshot", "--name", "before-upgrade");
    const words = async (...args: string[]) => (await home.sandbox(...args)).stderr;
    expect(await words("fork", "x", "--snapshot", "before-upgrad")).toContain("Did you mean before-upgrade?");
    expect(await words("fork", "default")).toContain("already has a sandbox");
    expect(await words("fork", "x", "--task", "nobody")).toContain("The task nobody has no sandbox");
    expect(await words("fork", "x", "--task", "a", "--snapshot", "b")).toContain("not both");
    expect(await words("prune", "--older-than", "soon")).toContain("7d");
    expect(await words("prune", "before-upgrade", "--all")).toContain("not both");
    expect(await words("snapshot", "--name", "../x")).toContain("Invalid snapshot name");
    // A script whose variable is unset passes an empty word; it must not select the snapshots without a name.
    await home.json("snapshot");
    for (const words of [
      ["restore", "", "--yes"],
      ["fork", "x", "--snapshot", ""],
      ["fork", ""],
      ["prune", ""],
      ["snapshot", "--name", ""],
      ["exec", "--task", "", "--", "true"],
      ["rm", ""],
    ]) {
      const refused = await home.sandbox(...words);
      expect(refused, words.join(" ")).toMatchObject({
        exitCode: 2,
        stderr: expect.stringContaining("It is empty"),
      });
    }
    const human = (await home.sandbox("list", "--size")).stdout;
    expect(human).toMatch(/SIZE\n.*\d [KM]?B/);
  });

  test("F13: podman with Docker's program is refused instead of using the other engine", async () => {
    await using home = await tempHome();
    const refused = await home.hermes(["sandbox", "exec", "--", "true"], {
      env: { HERMES_DOCKER_BINARY: service.client, DOCKER_HOST: service.host, TERMINAL_ENV: "podman" },
    });
    expect(refused).toMatchObject({ exitCode: 125, stderr: expect.stringContaining("which is docker") });
  });
});

describeWith("podman", "hermes sandbox snapshot, with podman", (service) => {
  journeys({ backend: "podman", client: service.client, image: service.images.bash, env: service.env });
});

test.each(["local", "ssh", "singularity"])(
  "G8: %s has no snapshots, and the error names an alternative",
  async (backend) => {
    await using home = await tempHome();
    const refused = await home.hermes(["sandbox", "snapshot"], { env: { TERMINAL_ENV: backend } });
    expect(refused.exitCode).toBe(1);
    expect(refused.stderr).toContain(`terminal.backend is ${backend}, which has no snapshots`);
    expect(refused.stderr).toContain("hermes config set terminal.backend docker");
  },
);
