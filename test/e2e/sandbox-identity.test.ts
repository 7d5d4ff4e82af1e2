import { execFileSync } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { readTextFile } from "../../src/lib/files/files.ts";
import { ENTRY } from "../support/built-program.ts";
import { tempHome } from "../support/hermes.ts";
import { openSandboxHome, type SandboxHome } from "../support/sandbox-home.ts";
import { expectConsistent, inspectProfile } from "../support/sandbox-order.ts";
import { describeWith, pathOf } from "../support/services.ts";

vi.setConfig({ testTimeout: 600_000 }); // each test starts the program many times

interface Row {
  readonly id: string;
  readonly name: string;
  readonly profile: string;
  readonly drift: readonly unknown[];
}

describeWith("docker", "a sandbox whose surroundings change", (service) => {
  const hermes = async (home: SandboxHome, ...args: readonly string[]) => {
    const end = await home.runHermes(args);
    expect(end, end.stderr).toMatchObject({ exitCode: 0 });
    return end;
  };
  const containersOf = async (home: SandboxHome, profileId: string) => {
    const ids = await home.docker(
      "ps",
      "-aq",
      "--no-trunc",
      "--filter",
      `label=hermes-profile-id=${profileId}`,
    );
    return ids.split("\n").filter((id) => id !== "");
  };
  async function openProfile(name: string) {
    const home = await openSandboxHome(service);
    await hermes(home, "profile", "create", name);
    await hermes(home, "-p", name, "sandbox", "exec", "--", "echo a > /etc/mark; echo b > /root/mark");
    const profileId = (await readTextFile(join(home.path, "profiles", name, "profile-id")))?.trim() ?? "";
    return {
      home,
      profileId,
      async [Symbol.asyncDispose]() {
        const ids = await containersOf(home, profileId);
        if (ids.length > 0) await home.docker("rm", "-f", "-v", ...ids);
        await home[Symbol.asyncDispose]();
      },
    };
  }
  const read = ["sandbox", "exec", "--", "cat /etc/mark /root/mark"];

  test.concurrent("survives a rename of its profile, even if it is stopped afterwards", async () => {
    await using world = await openProfile("work");
    const { home, profileId } = world;
    const before = await containersOf(home, profileId);
    await hermes(home, "profile", "rename", "work", "shop");
    expect((await hermes(home, "-p", "shop", ...read)).stdout).toBe("a\nb\n");
    await hermes(home, "-p", "shop", "sandbox", "stop");
    const again = await hermes(home, "-p", "shop", ...read);
    expect(again).toMatchObject({ stdout: "a\nb\n", stderr: "" });
    expect(await containersOf(home, profileId)).toEqual(before);
    const [row] = (await hermes(home, "-p", "shop", "sandbox", "list", "--json")).json<Row[]>();
    expect(row).toMatchObject({ profile: "shop", drift: [] });
    expect(await readdir(join(home.path, "profiles"))).not.toContain("work");
    await hermes(home, "profile", "create", "work"); // a new profile of that name does not get the sandbox
    expect((await hermes(home, "-p", "work", "sandbox", "list", "--json")).json<Row[]>()).toEqual([]);
    const sandboxes = join(home.path, "profiles/shop/sandboxes");
    expectConsistent(await inspectProfile(home, { sandboxes, profileId }));
  });

  test.concurrent("a command that runs while its profile is renamed ends normally and does not recreate the old name", async () => {
    await using world = await openProfile("work");
    const { home } = world;
    const wait = "echo up; until [ -e /root/go ]; do sleep 0.1; done; echo done";
    const user = home.startHermes(["-p", "work", "sandbox", "exec", "--", wait]);
    await new Promise((resolve) => user.child.stdout.once("data", resolve));
    await hermes(home, "profile", "rename", "work", "shop");
    await hermes(home, "-p", "shop", "sandbox", "exec", "--", "touch /root/go");
    expect(await user.ended).toMatchObject({ exitCode: 0, stdout: "up\ndone\n", stderr: "" });
    expect(await readdir(join(home.path, "profiles"))).not.toContain("work");
  });

  test.concurrent("is removed with its profile, but not while it is in use", async () => {
    await using world = await openProfile("work");
    const { home, profileId } = world;
    await hermes(home, "-p", "work", "sandbox", "snapshot");
    const user = home.startHermes(["-p", "work", "sandbox", "exec", "--", "echo up; sleep 600"]);
    await new Promise((resolve) => user.child.stdout?.once("data", resolve));
    const refused = await home.runHermes(["profile", "delete", "work", "--yes"]);
    expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("is in use") });
    user.child.kill("SIGKILL");
    await user.ended;
    const job = (
      await hermes(home, "-p", "work", "sandbox", "jobs", "start", "--", "sleep 600")
    ).stdout.trim();
    await vi.waitFor(
      async () => {
        const { exitCode, stderr } = await home.runHermes(["profile", "delete", "work", "--yes"]);
        expect({ exitCode, stderr }).toEqual({
          exitCode: 1,
          stderr: expect.stringContaining(`${job} (sleep 600)`),
        });
      },
      { timeout: 150_000, interval: 500 },
    );
    await hermes(home, "-p", "work", "sandbox", "jobs", "kill", job);
    const images = ["images", "-q", "--filter", `label=hermes-profile-id=${profileId}`];
    await vi.waitFor(
      async () => {
        const gone = await home.runHermes(["profile", "delete", "work", "--yes", "--now", "--json"]);
        expect(gone, gone.stderr).toMatchObject({ exitCode: 0 });
        expect(gone.json<{ sandboxes_removed: string[] }>().sandboxes_removed).toHaveLength(1);
      },
      { timeout: 150_000, interval: 500 }, // the shell of the killed process may take a moment to exit
    );
    expect(await containersOf(home, profileId)).toEqual([]);
    expect(await home.docker(...images)).toBe("");
    expect(await readdir(join(home.path, "profiles/.ids"))).toEqual([]);
  });

  test.concurrent("is found again under any name that a user gives it", async () => {
    await using home = await openSandboxHome(service);
    await home.exec("echo a > /etc/mark; echo b > /root/mark");
    const [id = ""] = await home.containers();
    const mine = `mine-${id.slice(0, 12)}`;
    await home.docker("rename", id, mine);
    expect(await home.exec("cat /etc/mark /root/mark")).toMatchObject({ exitCode: 0, stdout: "a\nb\n" });
    expect((await home.sandbox(["status", "--json"])).json<Row>()).toMatchObject({ id, name: mine });
    expect((await home.sandbox(["explain", "--json"])).json<Row>()).toMatchObject({ id });
    expect((await home.sandbox(["snapshot", "--name", "kept"])).exitCode).toBe(0);
    expect((await home.sandbox(["stop", "--json"])).json<Row>()).toMatchObject({ id, name: mine });
    expect(await home.exec("cat /etc/mark /root/mark")).toMatchObject({ exitCode: 0, stdout: "a\nb\n" });
    expect(await home.containers()).toEqual([id]);
    expect((await home.sandbox(["rm", "--force", "--json"])).json<Row>()).toMatchObject({ id, name: mine });
    expect(await home.containers()).toEqual([]);
    await home.sandbox(["prune", "--all"]);
  });

  test.concurrent("C15: after it was renamed, no command runs in a foreign container that got its old name", async () => {
    await using home = await openSandboxHome(service);
    await home.exec("echo ours > /etc/mark");
    const [id = ""] = await home.containers();
    const name = (await home.docker("inspect", "-f", "{{.Name}}", id)).slice(1);
    await home.docker("rename", id, `mine-${id.slice(0, 12)}`);
    const foreign = await home.docker(
      "run",
      "-d",
      "-w",
      "/workspace",
      "--name",
      name,
      service.images.bash,
      "sleep",
      "600",
    );
    try {
      const read = home.start(["exec", "--", "cat /etc/mark; touch /etc/been"]); // with /dev/null as its input
      expect(await read.ended).toMatchObject({ exitCode: 0, stdout: "ours\n" });
      expect(await home.docker("diff", foreign)).not.toMatch(/been|last-use/);
    } finally {
      await home.docker("rm", "-f", foreign);
    }
  });
});

describeWith("podman", "a sandbox of Podman whose surroundings change", (service) => {
  test("C15: after it was renamed, no command runs in a foreign container that got its old name", async () => {
    await using home = await tempHome();
    const env = {
      ...service.env,
      PATH: pathOf(service.client),
      HOME: home.folder,
      HERMES_HOME: home.path,
      TERMINAL_ENV: "podman",
      TERMINAL_DOCKER_IMAGE: service.images.bash,
      TERMINAL_DOCKER_NETWORK: "off",
      TERMINAL_CONTAINER_DISK: "0",
    };
    const run = (program: string, args: readonly string[]) =>
      execFileSync(program, args, { env, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }).trim();
    const podman = (...args: readonly string[]) => run(service.client, args);
    const exec = (command: string) => run(process.execPath, [ENTRY, "sandbox", "exec", "--", command]);
    const made: string[] = [];
    try {
      exec("echo ours > /etc/mark");
      const profileId = (await readTextFile(join(home.path, "profile-id")))?.trim();
      const id = podman("ps", "-aq", "--no-trunc", "--filter", `label=hermes-profile-id=${profileId}`);
      made.push(id);
      const name = podman("inspect", "-f", "{{.Name}}", id);
      podman("rename", id, `mine-${id.slice(0, 12)}`);
      const keep = ["sh", "-c", "mkdir /workspace && exec sleep 600"];
      made.push(podman("run", "-d", "--name", name, "--network", "none", service.images.bash, ...keep));
      expect(exec("cat /etc/mark")).toBe("ours");
    } finally {
      podman("rm", "-f", "-t", "0", ...made);
    }
  });
});
