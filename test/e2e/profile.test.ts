import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { tempHome } from "../support/hermes.ts";
import { scale } from "../support/scale.ts";

interface ProfileRow {
  name: string;
  active: boolean;
  id: string | null;
  home: string;
  description: string;
  model: string;
}

describe("a profile", () => {
  test("is created with its own id, home and private .env, and copies the model block of default", async () => {
    await using home = await tempHome();
    await mkdir(home.path);
    await writeFile(
      join(home.path, "config.yaml"),
      "model:\n  default: big/model # good\nterminal:\n  timeout: 5\n",
    );
    const created = (await home.hermes(["profile", "create", " Work ", "--json"])).json<ProfileRow>();
    expect(created).toMatchObject({
      name: "work",
      active: false,
      home: join(home.path, "profiles", "work"),
      model: "big/model",
    });
    expect(created.id).toMatch(/^[0-9a-f]{16}$/);
    expect((await stat(join(created.home, ".env"))).mode & 0o777).toBe(0o600);
    expect((await stat(created.home)).mode & 0o777).toBe(0o700);
    expect(await readFile(join(created.home, "config.yaml"), "utf8")).toBe(
      "model:\n  default: big/model # good\n",
    );
  });

  test("is named in hints when it was chosen with -p, so that the commands run as written", async () => {
    await using home = await tempHome();
    await home.hermes(["profile", "create", "work"]);
    const words = ["sandbox", "jobs", "log", "proc_1234"];
    const { stderr } = await home.hermes(["-p", "work", ...words]);
    expect(stderr).toContain("`hermes -p work sandbox jobs --all`");
    expect((await home.hermes(words)).stderr).toContain("`hermes sandbox jobs --all`");
    const help = (await home.hermes(["-p", "work", "sandbox", "jobs", "log"])).stderr;
    expect(help).toContain("`hermes sandbox jobs log --help`");
    const missing = await home.hermes(["-p", "nowhere", "status"]);
    expect(missing.stderr).not.toContain("`hermes -p nowhere");
  });

  test("is not renamed, deleted or switched to from the shell of a worker", async () => {
    await using home = await tempHome();
    await home.hermes(["profile", "create", "work"]);
    const env = { HERMES_KANBAN_TASK: "t_1a2b3c4d5e6f" };
    for (const words of [
      ["rename", "work", "shop"],
      ["delete", "work", "--yes"],
      ["use", "work"],
    ]) {
      const { exitCode, stderr } = await home.hermes(["profile", ...words], { env });
      expect(stderr).toContain("The worker of a task may not do this; only a person may.");
      expect(exitCode).not.toBe(0);
    }
    const rows = (await home.hermes(["profile", "list", "--json"], { env })).json<ProfileRow[]>();
    expect(rows.map(({ name, active }) => [name, active])).toEqual([
      ["default", true],
      ["work", false],
    ]);
  });

  test("keeps its id when renamed and gets a new one when cloned", async () => {
    await using home = await tempHome();
    const { id } = (await home.hermes(["profile", "create", "a", "--json"])).json<ProfileRow>();
    const renamed = (await home.hermes(["profile", "rename", "a", "b", "--json"])).json<ProfileRow>();
    expect(renamed).toMatchObject({ name: "b", id });
    const cloned = (
      await home.hermes(["profile", "create", "c", "--clone-from", "b", "--json"])
    ).json<ProfileRow>();
    expect(cloned.id).not.toBe(id);
    expect((await home.hermes(["profile", "show", "a"])).exitCode).toBe(1);
  });

  test.each([
    ["renamed", ["rename", "work", "shop"]],
    ["deleted", ["delete", "work", "--yes"]],
  ])("%s in the middle of a turn is not recreated by later writes of the turn", async (_, change) => {
    await using home = await tempHome();
    const [started, go, script] = ["started", "go", "script.json"].map((name) => join(home.folder, name));
    const wait = `echo > ${started}; until [ -e ${go} ]; do sleep 0.05; done; seq 200000`;
    const answers = [{ tools: [{ name: "terminal", input: { command: wait } }] }, { text: "the end" }];
    await writeFile(script ?? "", JSON.stringify({ turns: [{ when: "work", answers }] }));
    await home.hermes(["profile", "create", "work"]);
    const turn = home.start(["-p", "work", "-z", "work", "-m", `scripted:${script}`], { cwd: home.folder });
    await expect.poll(() => readFile(started ?? "", "utf8").catch(() => ""), { timeout: 60_000 }).toBe("\n");
    expect(await home.hermes(["profile", ...change])).toMatchObject({ exitCode: 0 });
    await writeFile(go ?? "", "");
    expect(await turn.ended).toMatchObject({ exitCode: 0, stdout: "the end\n", stderr: "" });
    expect(await readdir(join(home.path, "profiles"))).not.toContain("work");
  });

  test("is cloned with its settings, secrets and memories, but without messaging accounts and history", async () => {
    await using home = await tempHome();
    await mkdir(join(home.path, "memories"), { recursive: true });
    await mkdir(join(home.path, "sessions"));
    await writeFile(join(home.path, "config.yaml"), "terminal:\n  timeout: 5\ntelegram:\n  allow: [1]\n");
    await writeFile(join(home.path, ".env"), "OPENAI_API_KEY=sk-1\nTELEGRAM_BOT_TOKEN=1:a\n");
    await writeFile(join(home.path, "memories/MEMORY.md"), "likes tea");
    await home.hermes(["profile", "create", "plain", "--clone"]);
    const plain = join(home.path, "profiles/plain");
    expect(await readFile(join(plain, ".env"), "utf8")).toBe("OPENAI_API_KEY=sk-1\n");
    expect(await readFile(join(plain, "config.yaml"), "utf8")).toBe("terminal:\n  timeout: 5\n");
    expect(await readFile(join(plain, "memories/MEMORY.md"), "utf8")).toBe("likes tea");
    expect(await readdir(plain)).not.toContain("sessions");
    await home.hermes(["profile", "create", "full", "--clone", "--clone-channels"]);
    expect(await readFile(join(home.path, "profiles/full/.env"), "utf8")).toContain("TELEGRAM_BOT_TOKEN");
  });

  test("is described, listed and deleted by moving it aside", async () => {
    await using home = await tempHome();
    await home.hermes(["profile", "create", "work"]);
    await writeFile(join(home.path, "profiles/work/precious.txt"), "mine");
    await home.hermes(["profile", "describe", "work", "--text", "reviews: code"]);
    await home.hermes(["profile", "use", "work"]);
    const rows = (await home.hermes(["profile", "list", "--json"])).json<ProfileRow[]>();
    expect(rows.map((row) => [row.name, row.active, row.description])).toEqual([
      ["default", false, ""],
      ["work", true, "reviews: code"],
    ]);
    expect((await home.hermes(["profile", "delete", "work"])).exitCode).toBe(1);
    const { kept_in } = (await home.hermes(["profile", "delete", "work", "--yes", "--json"])).json<{
      kept_in: string;
    }>();
    expect(await readFile(join(kept_in, "precious.txt"), "utf8")).toBe("mine");
    const left = (await home.hermes(["profile", "list", "--json"])).json<ProfileRow[]>();
    expect(left.map((row) => [row.name, row.active])).toEqual([["default", true]]);
  });

  test("is created once and completely by many concurrent processes, and no staging folder is left", async () => {
    await using home = await tempHome();
    const runs = await Promise.all(
      Array.from({ length: scale.processes }, () =>
        home.hermes(["profile", "create", "work"], { ownProcess: true }),
      ),
    );
    expect(runs.filter((run) => run.exitCode === 0)).toHaveLength(1);
    expect(
      runs.filter((run) => run.exitCode === 1 && run.stderr.includes("already a profile work")),
    ).toHaveLength(scale.processes - 1);
    expect(await readdir(join(home.path, "profiles"))).toEqual(["work"]);
  }, 600_000);
});

describe("which profile a command runs as", () => {
  const active = async (home: Awaited<ReturnType<typeof tempHome>>, args: string[], env = {}) =>
    (await home.hermes([...args, "status", "--json"], { env })).json<{ profile: string }>().profile;

  test("-p, then a profile named by HERMES_HOME, then profile use, then default", async () => {
    await using home = await tempHome();
    expect(await active(home, [])).toBe("default");
    for (const name of ["a", "b", "c"]) await home.hermes(["profile", "create", name]);
    await home.hermes(["profile", "use", "a"]);
    expect(await active(home, [])).toBe("a");
    const env = { HERMES_HOME: join(home.path, "profiles/b") };
    expect(await active(home, [], env)).toBe("b");
    expect(await active(home, ["-p", "c"], env)).toBe("c");
    expect(await active(home, ["--profile=DEFAULT"], env)).toBe("default");
    const late = await home.hermes(["status", "--json", "-p", "c"]);
    expect(late.json()).toMatchObject({ profile: "c" });
  });

  test("an unknown profile is an error that names the command to create it", async () => {
    await using home = await tempHome();
    const run = await home.hermes(["-p", "nobody", "status"]);
    expect(run.exitCode).toBe(1);
    expect(run.stderr).toContain("hermes profile create nobody");
  });

  test("a profile that was removed by hand is never silently replaced by default, and list still works", async () => {
    await using home = await tempHome();
    await mkdir(home.path);
    await writeFile(join(home.path, "active_profile"), "gone\n");
    expect((await home.hermes(["status"])).exitCode).toBe(1);
    expect((await home.hermes(["profile", "list"])).exitCode).toBe(0);
    expect((await home.hermes(["profile", "use", "default"])).exitCode).toBe(0);
    expect(await active(home, [])).toBe("default");
  });
});

describe("bad names", () => {
  test.each(["a/b", "..", "a.b", "a b", "", "-a", "x".repeat(65), "é", "a\nb"])(
    "%j is refused",
    async (name) => {
      await using home = await tempHome();
      const run = await home.hermes(["profile", "create", "--", name]);
      expect(run.exitCode).toBe(1);
      expect(run.stderr).toContain("cannot be the name of a profile");
    },
  );

  test.each(["hermes", "root", "tmp", "Default"])("%s is reserved", async (name) => {
    await using home = await tempHome();
    expect((await home.hermes(["profile", "create", name])).exitCode).toBe(1);
  });

  test("the default profile cannot be deleted, and renaming it only changes its display name", async () => {
    await using home = await tempHome();
    expect((await home.hermes(["profile", "delete", "default", "--yes"])).exitCode).toBe(1);
    const shown = (await home.hermes(["profile", "rename", "default", "My Agent", "--json"])).json();
    expect(shown).toMatchObject({ name: "default", displayName: "My Agent" });
  });
});

test("F52: without a terminal no question is asked, and nothing is done", async () => {
  await using home = await tempHome();
  await home.hermes(["profile", "create", "work"]);
  const { exitCode, stdout, stderr } = await home.hermes(["profile", "delete", "work"], { stdin: "y\n" });
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
  expect(stderr).toContain("--yes");
  expect((await home.hermes(["profile", "list", "--json"])).stdout).toContain('"work"');
});
