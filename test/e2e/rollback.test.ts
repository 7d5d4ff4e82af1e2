import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { tempHome } from "../support/hermes.ts";
import { scale } from "../support/scale.ts";

/** A home with checkpoints, whose model runs one command per turn. */
async function openProject(command: string, settings: Record<string, unknown> = {}) {
  const home = await tempHome();
  const project = join(home.folder, "my project");
  await mkdir(project, { recursive: true });
  await mkdir(home.path, { recursive: true });
  const script = join(home.folder, "model.yaml");
  const call = { tools: [{ name: "terminal", input: { command } }] };
  await writeFile(script, JSON.stringify({ turns: [{ when: "go", answers: [call, { text: "done" }] }] }));
  const config = {
    model: { provider: "scripted", default: script },
    checkpoints: { enabled: true },
    approvals: { mode: "off" },
    ...settings,
  };
  await writeFile(join(home.path, "config.yaml"), JSON.stringify(config));
  return { ...home, project, run: (...args: string[]) => home.hermes(args, { cwd: project }) };
}

async function contents(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.flatMap((entry) => (entry.isFile() ? [entry.name] : [])).toSorted();
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), "utf8")] as const)),
  );
}

test("agent K5: the file changes of a turn are shown, undone and redone", async () => {
  await using home = await openProject("echo changed > a.txt; rm b.txt; echo new > c.txt; echo x > .env");
  const ignored = { ".gitignore": ".env\nout/\n", ".env": "x\n" };
  await writeFile(join(home.project, ".gitignore"), ignored[".gitignore"]);
  await mkdir(join(home.project, "out"));
  await writeFile(join(home.project, "a.txt"), "old\n");
  await writeFile(join(home.project, "b.txt"), "old\n");
  expect((await home.run("-z", "go")).exitCode).toBe(0);
  const changed = await contents(home.project);
  expect(changed).toEqual({ ...ignored, "a.txt": "changed\n", "c.txt": "new\n" });
  expect((await home.run("rollback", "--list")).stdout).toContain("terminal echo changed > a.txt");
  const diff = await home.run("rollback", "--diff");
  expect(diff.stdout).toContain("-changed\n+old");
  expect(await contents(home.project)).toEqual(changed);
  const undone = await home.run("rollback");
  expect(undone.stdout).toBe(
    "Restored 3 files:\n  a.txt\n  b.txt\n  c.txt\nRun `hermes rollback` again to undo this.\n",
  );
  expect(undone.stderr).toContain("not restored: .env\n");
  expect(await contents(home.project)).toEqual({ ...ignored, "a.txt": "old\n", "b.txt": "old\n" });
  await home.run("rollback");
  expect(await contents(home.project)).toEqual(changed);
});

test("a turn that changes nothing leaves no checkpoint, and without a checkpoint rollback says what to do", async () => {
  await using home = await openProject("ls");
  await home.run("-z", "go");
  const nothing = await home.run("rollback");
  expect(nothing.exitCode).not.toBe(0);
  expect(nothing.stderr).toContain("There is no checkpoint of");
  expect(nothing.stderr).toContain("checkpoints.enabled");
});

test("agent K5: a rollback killed at any time is finished by the next command", async () => {
  const files = 20;
  await using home = await openProject(`for n in $(seq ${files}); do echo new > f$n; done`);
  for (let file = 1; file <= files; file++) await writeFile(join(home.project, `f${file}`), "old\n");
  const old = await contents(home.project);
  await home.run("-z", "go");
  const changed = await contents(home.project);
  for (let round = 0; round < scale.kills; round++) {
    const killWhen = (): Promise<void> => sleep(Math.random() * 600); // a random time during the rollback
    await home.hermes(["rollback"], { cwd: home.project, killWhen });
    await home.run("rollback", "--list");
    const found = await contents(home.project);
    expect([old, changed]).toContainEqual(found);
  }
});
