import { mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempHome } from "../support/hermes.ts";
import { openSandboxHome } from "../support/sandbox-home.ts";
import { describeWith } from "../support/services.ts";

// Tests of settings whose effect is visible only in the built program.

const terminal = (command: string) => ({ tools: [{ name: "terminal", input: { command } }] });

/** Runs `hermes -z` with and without a setting. */
async function compare(answers: readonly object[], env: Readonly<Record<string, string>>) {
  await using home = await tempHome();
  await mkdir(home.path, { recursive: true });
  const script = join(home.folder, "script.json");
  await writeFile(script, JSON.stringify({ answers }));
  const run = (given: Readonly<Record<string, string>>) =>
    home.hermes(["-z", "go", "-m", `scripted:${script}`, "--json"], { env: given, cwd: home.folder });
  const [standard, changed] = [await run({}), await run(env)];
  const spilled = join(home.path, "cache");
  const files = await readdir(spilled, { recursive: true, withFileTypes: true }).catch(() => []);
  const sizes = await Promise.all(
    files
      .filter((file) => file.isFile())
      .map(async (file) => (await stat(join(file.parentPath, file.name))).size),
  );
  return { standard, changed, sizes };
}

test("agent.max_turns and agent.run_budget_seconds end a run with exit code 3", async () => {
  const answers = [terminal("sleep 1.5"), { text: "done" }];
  for (const env of [{ HERMES_AGENT_MAX_TURNS: "1" }, { HERMES_AGENT_RUN_BUDGET_SECONDS: "1" }]) {
    const { standard, changed } = await compare(answers, env);
    expect(standard.exitCode, standard.stderr).toBe(0);
    expect(changed.exitCode, changed.stderr).toBe(3);
  }
  // In homes of the reference program, 0 can mean that there is no limit.
  const { changed } = await compare(answers, { HERMES_AGENT_MAX_TURNS: "0" });
  expect(changed.exitCode, changed.stderr).toBe(0);
});

test("agent.disabled_toolsets removes its tools from the model", async () => {
  const { standard, changed } = await compare([terminal("echo there"), { text: "done" }], {
    HERMES_AGENT_DISABLED_TOOLSETS: '["terminal"]',
  });
  expect(standard.stdout).toContain("there");
  expect(changed.stdout).toContain('There is no tool \\"terminal\\"');
});

test("tool_output.max_bytes limits what the model sees, and tool_output.spill_max_bytes the file with the rest", async () => {
  const { standard, changed, sizes } = await compare([terminal("seq 1 5000"), { text: "done" }], {
    HERMES_TOOL_OUTPUT_MAX_BYTES: "1000",
    HERMES_TOOL_OUTPUT_SPILL_MAX_BYTES: "3000",
  });
  expect(standard.stdout).not.toContain("Output truncated");
  expect(changed.stdout).toContain("Output truncated");
  expect(sizes).toHaveLength(1);
  expect(sizes[0]).toBeLessThan(4_000); // the full output has 23,893
});

test("terminal.timeout ends a command, and terminal.max_foreground_timeout refuses a longer requested timeout", async () => {
  const command = { name: "terminal", input: { command: "sleep 2; echo over", timeout: 100 } };
  const refused = await compare([{ tools: [command] }, { text: "done" }], {
    TERMINAL_MAX_FOREGROUND_TIMEOUT: "99",
  });
  expect(refused.standard.stdout).toContain("over");
  expect(refused.changed.stdout).toContain("A foreground command may take 99 s at most");
  const ended = await compare([terminal("sleep 2; echo ov''er"), { text: "done" }], {
    TERMINAL_TIMEOUT: "1",
  });
  expect(ended.standard.stdout).toContain("over");
  expect(ended.changed.stdout).toContain("Timed out after 1 s");
});

describeWith("docker", "settings of sandboxes that agents use", (service) => {
  test("terminal.sandbox_dir is the folder for the files of a sandbox", async () => {
    await using home = await openSandboxHome(service);
    const folder = join(home.folder, "elsewhere");
    const run = await home.exec("echo kept > /workspace/kept", { env: { TERMINAL_SANDBOX_DIR: folder } });
    expect(run.exitCode, run.stderr).toBe(0);
    expect(await readdir(folder, { recursive: true })).toContainEqual(expect.stringMatching(/\/kept$/));
  });
});
