import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openRuleSource } from "./rule-source.ts";
import { createTrustedRules } from "./trusted-rules.ts";

/** A project whose rules are trusted, and the rules of a session that starts in another folder of the same parent. */
async function openProject() {
  const folder = await mkdtemp(join(tmpdir(), "hermes-rules-"));
  const [project, other] = [join(folder, "project"), join(folder, "other")];
  const path = join(project, ".hermes", "rules.yaml");
  const text = 'allow: ["make *"]\nask: ["git push *"]\ndeny: ["write(infra/**)"]\n';
  await mkdir(join(project, ".hermes"), { recursive: true });
  await Promise.all([project, other].map((at) => mkdir(join(at, ".git"), { recursive: true })));
  await writeFile(path, text);
  const trusted = createTrustedRules(join(folder, "home"));
  await trusted.trust(path, text);
  const notices: string[] = [];
  const open = (projectFolder: string) =>
    openRuleSource({
      managedPath: join(folder, "managed.yaml"),
      configPath: join(folder, "config.yaml"),
      loadUserRules: async () => ({ allow: [], ask: [], deny: [] }),
      trusted,
      projectFolder,
      knownTools: new Set(["terminal"]),
      report: (notice) => notices.push(notice),
    });
  return {
    ...{ project, other, path, notices, open },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

test("M3: the deny and ask rules of a trusted project stay in force when its file is removed", async () => {
  await using lab = await openProject();
  const running = await lab.open(lab.project);
  expect(await running.rules()).toHaveLength(3);
  await rm(lab.path);
  for (const source of [running, await lab.open(lab.project)]) {
    const rules = await source.rules();
    expect(rules.map(({ effect }) => effect).toSorted()).toEqual(["ask", "deny"]);
  }
  expect(lab.notices.join("\n")).toContain("was removed; the deny and ask rules");
});

test("M3: the rules of a project apply when the shell enters it, relative to its root", async () => {
  await using lab = await openProject();
  const source = await lab.open(lab.other);
  expect(await source.rules(lab.other)).toEqual([]);
  expect(await source.rules(join(lab.project, "sub"))).toMatchObject([
    { text: "make *" },
    { text: "git push *" },
    { text: "write(infra/**)", base: lab.project },
  ]);
  expect(await source.rules(lab.other)).toEqual([]);
});
