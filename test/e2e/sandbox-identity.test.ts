import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { readTextFile } from "../../src/lib/files.ts";
import { openSandboxHome, type SandboxHome } from "../support/sandbox-home.ts";
import { expectOrder, look } from "../support/sandbox-order.ts";
import { describeWith } from "../support/services.ts";

vi.setConfig({ testTimeout: 600_000 }); // each starts the program many times

interface Row {
  readonly id: string;
  readonly name: string;
  readonly profile: string;
  readonly drift: readonly unknown[];
}

describeWith("docker", "a sandbox whose surroundings change", (service) => {
  const hermes = async (home: SandboxHome, ...args: readonly string[]) => {
    const end = await home.ask(args);
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

  test.concurrent("survives that its profile is renamed, also when it is stopped afterwards", async () => {
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
    await hermes(home, "profile", "create", "work"); // another one of that name has nothing of it
    expect((await hermes(home, "-p", "work", "sandbox", "list", "--json")).json<Row[]>()).toEqual([]);
    const sandboxes = join(home.path, "profiles/shop/sandboxes");
    expectOrder(await look(home, { sandboxes, profileId }));
  });

  test.concurrent("a command that runs while its profile is renamed ends well and does not bring the old name back", async () => {
    await using world = await openProfile("work");
    const { home } = world;
    const wait = "echo up; until [ -e /root/go ]; do sleep 0.1; done; echo done";
    const user = home.agent(["-p", "work", "sandbox", "exec", "--", wait]);
    await new Promise((resolve) => user.child.stdout.once("data", resolve));
    await hermes(home, "profile", "rename", "work", "shop");
    await hermes(home, "-p", "shop", "sandbox", "exec", "--", "touch /root/go");
    expect(await user.ended).toMatchObject({ exitCode: 0, stdout: "up\ndone\n", stderr: "" });
    expect(await readdir(join(home.path, "profiles"))).not.toContain("work");
  });

  test.concurrent("goes with its profile, but not while somebody uses it", async () => {
    await using world = await openProfile("work");
    const { home, profileId } = world;
    await hermes(home, "-p", "work", "sandbox", "snapshot");
    const user = home.agent(["-p", "work", "sandbox", "exec", "--", "echo up; sleep 600"]);
    await new Promise((resolve) => user.child.stdout?.once("data", resolve));
    const refused = await home.ask(["profile", "delete", "work", "--yes"]);
    expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("is in use") });
    user.child.kill("SIGKILL");
    await user.ended;
    const job = (
      await hermes(home, "-p", "work", "sandbox", "jobs", "start", "--", "sleep 600")
    ).stdout.trim();
    await vi.waitFor(
      async () => {
        const { exitCode, stderr } = await home.ask(["profile", "delete", "work", "--yes"]);
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
        const gone = await home.ask(["profile", "delete", "work", "--yes", "--now", "--json"]);
        expect(gone, gone.stderr).toMatchObject({ exitCode: 0 });
        expect(gone.json<{ sandboxes_removed: string[] }>().sandboxes_removed).toHaveLength(1);
      },
      { timeout: 150_000, interval: 500 }, // the killed one's shell may take a moment to end
    );
    expect(await containersOf(home, profileId)).toEqual([]);
    expect(await home.docker(...images)).toBe("");
    expect(await readdir(join(home.path, "profiles/.ids"))).toEqual([]);
  });

  test.concurrent("is found again under whatever name a person gives it", async () => {
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
});
