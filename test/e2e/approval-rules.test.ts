import { execFile, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { openApprovalHome, resultsOf, terminal } from "../support/approval-home.ts";
import { ENTRY } from "../support/built-program.ts";

const run = promisify(execFile);
const hello = (name: string) => terminal(`echo hello > ${name}`);
/** A command that waits until the test has changed something. */
const pause = terminal("touch paused; while [ ! -e go ]; do sleep 0.05; done");

type Home = Awaited<ReturnType<typeof openApprovalHome>>;

/** Starts a run, calls `change` while its model waits, and resolves with the end of the run. */
async function changeDuringRun(home: Home, change: () => Promise<unknown>) {
  const { ended } = home.start(["-z", "go", "--json"]);
  await expect.poll(() => existsSync(home.file("paused"))).toBe(true);
  await change();
  await writeFile(home.file("go"), "");
  return ended;
}

describe("the user's rules", () => {
  test("an answer with scope always adds a rule, keeps comments and order, and takes effect in the same session", async () => {
    await using home = await openApprovalHome({
      answers: [
        terminal("rm -rf built"),
        terminal("mkdir built"),
        terminal("rm -rf built"),
        { text: "done" },
      ],
    });
    const settings = [
      "# my settings",
      "approvals:",
      "  # ask me",
      "  mode: manual",
      "  single_query_mode: ask # from another terminal",
      "  allow:",
      "    # about publishing",
      "    - npm publish --dry-run # harmless",
      "terminal:",
      "  timeout: 77 # seconds",
      "",
    ].join("\n");
    await writeFile(home.configPath, settings);
    await mkdir(home.file("built"));
    const { ended } = home.start(["-z", "go", "--json"]);
    const question = await home.question();
    const approved = await home.hermes(["approvals", "approve", question.id, "--for", "always"]);
    expect(approved.exitCode, approved.stderr).toBe(0);
    const end = await ended;
    expect(end.exitCode, end.stderr).toBe(0);
    expect(existsSync(home.file("built"))).toBe(false);
    expect(await home.audit()).toMatchObject([
      { step: "person", scope: "always" },
      { step: "rule" },
      { step: "rule", rule: `in(${home.work}): rm -rf built`, layer: "user" },
    ]);
    const added = `    - npm publish --dry-run # harmless\n    - "in(${home.work}): rm -rf built"\n`;
    expect(await readFile(home.configPath, "utf8")).toBe(
      settings.replace("    - npm publish --dry-run # harmless\n", added),
    );
  });

  test("two concurrent answers with scope always add both rules", async () => {
    const scripts = ["one", "two"].map((name) => ({
      when: name,
      answers: [terminal(`rm -rf ${name}`), { text: "done" }],
    }));
    await using home = await openApprovalHome(
      { turns: scripts },
      { mode: "manual", single_query_mode: "ask" },
    );
    const runs = ["one", "two"].map((name) => home.start(["-z", name]).ended);
    await expect.poll(async () => (await home.list()).length).toBe(2);
    const ids = (await home.list()).map(({ id }) => id);
    const answers = await Promise.all(
      ids.map((id) => home.hermes(["approvals", "approve", id, "--for", "always"], { ownProcess: true })),
    );
    expect(answers.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
    await Promise.all(runs);
    const { stdout } = await home.hermes(["approvals", "rules", "--json"], { ownProcess: true });
    const rules = (JSON.parse(stdout) as { layer: string; rule: string }[]).filter(
      ({ layer }) => layer === "user",
    );
    expect(rules.map(({ rule }) => rule).toSorted()).toEqual([
      `in(${home.work}): rm -rf one`,
      `in(${home.work}): rm -rf two`,
    ]);
  });

  test("rules are read at decision time: a deny rule that is added during a run takes effect at once", async () => {
    await using home = await openApprovalHome({ answers: [pause, hello("a.txt"), { text: "done" }] }, {});
    const end = await changeDuringRun(home, () =>
      home.hermes(["config", "set", "approvals.deny", '["echo hello*"]']),
    );
    expect(end.exitCode, end.stderr).toBe(0);
    expect(resultsOf(end)[1]).toContain("The rule `echo hello*` (user) forbids it.");
    expect(existsSync(home.file("a.txt"))).toBe(false);
  });

  test.each([
    ["an invalid rule", "approvals:\n  deny: []\n  allow: ['nosuch(x)', 'echo hello*']\n", "that is unknown"],
    ["no YAML", "approvals: [\n", "config.yaml"],
    ["a wrong type", "approvals:\n  deny: 5\n", "approvals.deny"],
  ])(
    "a settings file with %s is refused as a whole, and the previous rules stay in force",
    async (_, text, said) => {
      await using home = await openApprovalHome(
        { answers: [pause, hello("a.txt"), { text: "done" }] },
        { deny: ["echo hello*"] },
      );
      const end = await changeDuringRun(home, () => writeFile(home.configPath, text));
      expect(end.exitCode, end.stderr).toBe(0);
      expect(resultsOf(end)[1]).toContain("The rule `echo hello*` (user) forbids it.");
      expect(existsSync(home.file("a.txt"))).toBe(false);
      expect(end.stderr).toContain("The rules from before the change stay in force.");
      expect(end.stderr).toContain(said);
      // A new run has no previous rules, so it does not start.
      await writeFile(home.file("go"), "");
      const next = await home.run(["-z", "go"]);
      expect(next).toMatchObject({ exitCode: expect.any(Number), stdout: "" });
      expect(next.exitCode).not.toBe(0);
      expect(existsSync(home.file("a.txt"))).toBe(false);
    },
  );

  test("approvals rules lists every layer with its effect; suggest changes nothing and proposes only commands that were approved twice", async () => {
    await using home = await openApprovalHome(
      { answers: [terminal("git clean -fdx"), terminal("git clean -fdx"), { text: "done" }] },
      { mode: "manual", single_query_mode: "ask", deny: ["terraform *"] },
    );
    await run("git", ["init", "-q", home.work]);
    const suggest = async () => (await home.hermes(["approvals", "suggest", "--json"])).json<object[]>();
    const { ended } = home.start(["-z", "go"]);
    const first = await home.question();
    await home.hermes(["approvals", "approve", first.id]);
    await expect.poll(async () => (await home.list())[0]?.id ?? first.id).not.toBe(first.id);
    expect(await suggest()).toEqual([]);
    await home.hermes(["approvals", "approve", (await home.question()).id]);
    await ended;
    const before = await readFile(home.configPath, "utf8");
    expect(await suggest()).toEqual([{ rule: "git clean -fdx", approved: 2 }]);
    expect(await readFile(home.configPath, "utf8")).toBe(before);
    const rules = await home.hermes(["approvals", "rules"], { cwd: home.work });
    expect(rules.stdout).toMatch(/^user +deny +terraform \*/m);
    expect(rules.stdout).toMatch(/^built-in +ask +class:git-work-loss/m);
  });
});

describe("a project's rules", () => {
  const RULES = "allow:\n  - rm -rf built\n";

  async function openProject() {
    const home = await openApprovalHome(
      { answers: [terminal("rm -rf built"), { text: "done" }] },
      { mode: "manual" },
    );
    await mkdir(home.file(".hermes"));
    await writeFile(home.file(".hermes/rules.yaml"), RULES);
    await run("git", ["init", "-q", home.work]);
    /** Whether the call ran, and what was printed about the rules. */
    const attempt = async () => {
      await mkdir(home.file("built"), { recursive: true });
      const { stderr } = await home.run(["-z", "go"]);
      return { ran: !existsSync(home.file("built")), stderr };
    };
    const trust = (...args: readonly string[]) =>
      home.hermes(["approvals", "trust", ...args], { cwd: home.work });
    return { home, attempt, trust };
  }

  test("agent M3: allow nothing before they are trusted, and a change must be trusted again", async () => {
    const { home: opened, attempt, trust } = await openProject();
    await using home = opened;
    const before = await attempt();
    expect(before.ran).toBe(false);
    expect(before.stderr).toMatch(/rules\.yaml is not trusted and has no effect\..*hermes approvals trust/);
    const refused = await trust();
    expect(refused.exitCode).not.toBe(0); // nobody can confirm it in a pipe
    expect((await attempt()).ran).toBe(false);
    const trusted = await trust("--yes");
    expect(trusted.exitCode, trusted.stderr).toBe(0);
    expect(trusted.stderr).toContain("allow  rm -rf built");
    expect(await attempt()).toEqual({ ran: true, stderr: "" });
    expect(await home.audit("--limit", "1")).toMatchObject([
      { step: "rule", layer: "project", rule: "rm -rf built" },
    ]);
    // The trusted version counts, not the current content of the file.
    await writeFile(home.file(".hermes/rules.yaml"), "allow:\n  - rm *\n  - class:recursive-removal\n");
    const changed = await attempt();
    expect(changed.stderr).toContain("has changed; the version that you trusted counts");
    expect(changed.ran).toBe(true);
    await writeFile(
      home.scriptPath,
      JSON.stringify({ answers: [terminal("rm -rf ./built"), { text: "done" }] }),
    );
    expect((await attempt()).ran).toBe(false);
    await trust("--yes");
    expect((await attempt()).ran).toBe(true);
  });

  test("a trusted project cannot lift a rule of the user, and its deny rules apply", async () => {
    const { home: opened, attempt, trust } = await openProject();
    await using home = opened;
    await trust("--yes");
    await writeFile(home.configPath, "approvals:\n  mode: manual\n  ask: ['rm *']\n");
    expect((await attempt()).ran).toBe(false);
    await writeFile(home.configPath, "approvals:\n  mode: manual\n  allow: ['rm *']\n");
    expect((await attempt()).ran).toBe(true);
    await writeFile(home.file(".hermes/rules.yaml"), "deny:\n  - rm *\n");
    await trust("--yes");
    expect((await attempt()).ran).toBe(false);
  });

  test("another project with the same rules is not trusted", async () => {
    const { home: opened, trust } = await openProject();
    await using home = opened;
    await trust("--yes");
    const other = join(home.folder, "other");
    await run("cp", ["-r", home.work, other]);
    await mkdir(join(other, "built"));
    await home.run(["-z", "go"], { cwd: other });
    expect(existsSync(join(other, "built"))).toBe(true);
  });

  test.each([
    ["an unknown key", "allowed: []\n", "allowed"],
    ["one wrong rule among good ones", "allow: ['rm -rf built', 'nosuch(x)']\n", "nosuch"],
    ["no YAML", "allow: [\n", "rules.yaml"],
  ])(
    "a file with %s cannot be trusted, and the version trusted before stays in force",
    async (_, text, said) => {
      const { home: opened, attempt, trust } = await openProject();
      await using home = opened;
      await trust("--yes");
      await writeFile(home.file(".hermes/rules.yaml"), text);
      const refused = await trust("--yes");
      expect(refused.exitCode).not.toBe(0);
      expect(refused.stderr).toContain(said);
      expect((await attempt()).ran).toBe(true);
    },
  );
});

/** Whether this machine allows a private mount of /etc. */
const hasMounts = spawnSync("unshare", ["-m", "mount", "--bind", "/etc", "/etc"]).status === 0;

describe.skipIf(!hasMounts)(`managed rules${hasMounts ? "" : " [skipped: unshare -m needs root]"}`, () => {
  /** Runs the program with an /etc that contains only the administrator's rules and the files that programs need. */
  async function runManaged(home: Home, rules: string, args: readonly string[]) {
    const etc = join(home.folder, "etc");
    await mkdir(join(etc, "hermes"), { recursive: true });
    await writeFile(join(etc, "hermes/rules.yaml"), rules);
    await run("cp", ["/etc/passwd", "/etc/group", etc]);
    const script = 'mount --bind "$0" /etc && exec "$@"';
    const words = [process.execPath, ENTRY, ...args, "-m", `scripted:${home.scriptPath}`];
    const env = { PATH: process.env["PATH"] ?? "", HOME: home.folder, HERMES_HOME: home.path };
    return run("unshare", ["-m", "sh", "-c", script, etc, ...words], { env, cwd: home.work }).then(
      ({ stdout, stderr }) => ({ exitCode: 0, stdout, stderr }),
      ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
        exitCode: code,
        stdout,
        stderr,
      }),
    );
  }

  test("agent M3: cannot be lifted by the user's rules, by yolo or by an answer with scope always", async () => {
    await using home = await openApprovalHome(
      { answers: [hello("denied.txt"), terminal("rm -rf built"), { text: "done" }] },
      { mode: "manual", allow: ["echo hello*", "rm -rf built", "terminal"] },
    );
    await mkdir(home.file("built"));
    const rules = "deny: ['echo hello*']\nask: ['rm *']\n";
    const plain = await runManaged(home, rules, ["-z", "go"]);
    expect(plain.exitCode, plain.stderr).toBe(0);
    expect(await home.audit()).toMatchObject([
      { step: "deny-rule", layer: "managed", verdict: "denied" },
      { step: "person", layer: "managed", verdict: "denied" },
    ]);
    expect(existsSync(home.file("denied.txt"))).toBe(false);
    expect(existsSync(home.file("built"))).toBe(true);
    await runManaged(home, rules, ["-z", "go", "--yolo"]);
    expect(existsSync(home.file("denied.txt"))).toBe(false);
  });

  test("a question of the administrator's rule cannot be answered with scope always", async () => {
    await using home = await openApprovalHome(
      { answers: [terminal("rm -rf built"), { text: "done" }] },
      { mode: "manual", single_query_mode: "ask" },
    );
    const ended = runManaged(home, "ask: ['rm *']\n", ["-z", "go"]);
    const { id } = await home.question();
    const refused = await home.hermes(["approvals", "approve", id, "--for", "always"]);
    expect(refused.exitCode).not.toBe(0);
    expect(refused.stderr).toContain("This call cannot be allowed permanently.");
    expect(await home.list()).toMatchObject([{ id, state: "waiting" }]);
    await home.hermes(["approvals", "deny", id]);
    await ended;
  });

  test("a managed rule file with an error prevents every start", async () => {
    await using home = await openApprovalHome({ answers: [hello("a.txt"), { text: "done" }] }, {});
    const end = await runManaged(home, "deny: ['nosuch(x)']\n", ["-z", "go"]);
    expect(end.exitCode).not.toBe(0);
    expect(end.stderr).toContain("/etc/hermes/rules.yaml is not used");
    expect(existsSync(home.file("a.txt"))).toBe(false);
  });
});
