import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { exists } from "../../src/lib/files/unless-missing.ts";
import { tempHome } from "../support/hermes.ts";
import { describeWith } from "../support/services.ts";

/** A home with a project in it, whose model makes these calls of `terminal`, one after the other. */
async function openProject(calls: readonly object[], settings: object = {}) {
  const home = await tempHome();
  const project = join(home.folder, "project");
  await mkdir(project, { recursive: true });
  await mkdir(home.path, { recursive: true });
  const script = join(home.folder, "model.yaml");
  const answers = [...calls.map((input) => ({ tools: [{ name: "terminal", input }] })), { text: "done" }];
  await writeFile(script, JSON.stringify({ turns: [{ when: "go", answers }] }));
  const config = {
    model: { provider: "scripted", default: script },
    terminal: { local_sandbox: "workspace" },
    ...settings,
  };
  await writeFile(join(home.path, "config.yaml"), JSON.stringify(config));
  return { ...home, project, run: (...args: string[]) => home.hermes(args, { cwd: project }) };
}

describeWith("bubblewrap", "the local sandbox", () => {
  test("agent K10: a turn works in the project, is refused elsewhere, and must ask before it leaves the sandbox", async () => {
    const outside = "echo x > ../outside";
    await using home = await openProject([
      { command: "echo x > inside" },
      { command: outside },
      { command: outside, outside_sandbox: true },
    ]);
    const turn = await home.run("-z", "go");
    expect(turn).toMatchObject({ exitCode: 0, stdout: "done\n" });
    expect(await readFile(join(home.project, "inside"), "utf8")).toBe("x\n");
    expect(await exists(join(home.folder, "outside"))).toBe(false);
    const [denied] = JSON.parse((await home.run("audit", "--denied", "--json")).stdout);
    expect(denied).toMatchObject({ rule: "class:sandbox-exit" });
  });

  test("agent K10: a rule of the user lets one command leave the sandbox without a question", async () => {
    await using home = await openProject([{ command: "cp inside ../outside", outside_sandbox: true }], {
      approvals: { allow: ["cp inside ../outside"] },
    });
    await writeFile(join(home.project, "inside"), "x\n");
    await home.run("-z", "go");
    expect(await readFile(join(home.folder, "outside"), "utf8")).toBe("x\n");
  });

  test("agent K8: a new repository and new files that programs outside would obey are reported to the user, once", async () => {
    await using home = await openProject([
      { command: "git init -q nest && git -C nest config core.fsmonitor ./evil && echo {} > .mcp.json" },
    ]);
    const { stderr } = await home.run("-z", "go", "--yolo");
    expect(stderr).toContain(`created ${join(home.project, "nest", ".git")}, which sets core.fsmonitor.`);
    expect(stderr).toContain(`created ${join(home.project, ".mcp.json")}, which programs outside`);
    const exec = await home.run("sandbox", "exec", "--", "mkdir .vscode");
    expect(exec.stderr.split(join(home.project, ".vscode"))).toHaveLength(2);
  });

  test("agent K9: status, doctor and sandbox explain show the limits", async () => {
    await using home = await openProject([]);
    expect((await home.run("status")).stdout).toContain("in the sandbox (workspace)");
    const doctor = JSON.parse((await home.run("doctor", "--json")).stdout);
    expect(doctor.checks).toContainEqual(expect.objectContaining({ name: "sandbox", status: "ok" }));
    const explained = JSON.parse((await home.run("sandbox", "explain", "--json")).stdout);
    expect(explained).toMatchObject({ mode: "workspace", writable: [home.project], problem: null });
    expect(explained.hidden).toContain(home.path);
    expect((await home.run("sandbox", "explain")).stdout).toContain("can write");
  });

  test("agent K8: a background job outlives its process and can be ended by another one", async () => {
    await using home = await openProject([{ command: "sleep 600", background: true }]);
    await home.run("-z", "go");
    const [job] = JSON.parse((await home.run("sandbox", "jobs", "--json")).stdout);
    expect(job).toMatchObject({ state: "running" });
    expect((await home.run("sandbox", "jobs", "kill", job.id)).exitCode).toBe(0);
  });
});
