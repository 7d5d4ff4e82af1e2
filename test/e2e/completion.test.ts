import { spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempHome } from "../support/hermes.ts";

/** For each shell, a script that prints the proposed words for a command line, each followed by a tab or colon and its meaning. */
const SHELLS: Readonly<Record<string, (script: string, words: readonly string[]) => string>> = {
  bash: (script, words) =>
    `source '${script}'; COMP_WORDS=(${words.map(quote).join(" ")}); COMP_CWORD=${words.length - 1}; _hermes; printf '%s\\n' "\${COMPREPLY[@]}"`,
  // The functions of zsh's completion system are replaced by ones that print their candidates.
  zsh: (script, words) =>
    `compdef() { : }; _files() { : }; _describe() { print -l -- \${(P)@[-1]} }; source '${script}'; words=(${words.map(quote).join(" ")}); CURRENT=${words.length}; _hermes`,
  fish: (script, words) => `source '${script}'; complete -C ${quote(words.join(" "))}`,
};
const OPTIONS: Readonly<Record<string, readonly string[]>> = {
  bash: ["--norc"],
  zsh: ["-f"],
  fish: ["--no-config"],
};

function quote(word: string): string {
  return `'${word}'`;
}

for (const [shell, commandFor] of Object.entries(SHELLS)) {
  const isInstalled = spawnSync(shell, ["-c", "exit 0"]).status === 0;
  test.skipIf(!isInstalled)(
    `${shell} completes commands, verbs, options, choices and settings, generated from the commands`,
    async () => {
      await using home = await tempHome();
      const { stdout, exitCode } = await home.hermes(["completion", shell]);
      expect(exitCode).toBe(0);
      const script = join(home.folder, "script");
      await writeFile(script, stdout);
      const complete = (...words: string[]): string[] => {
        const run = spawnSync(shell, [...(OPTIONS[shell] ?? []), "-c", commandFor(script, words)], {
          encoding: "utf8",
          env: { ...process.env, HOME: home.folder, LC_ALL: "C.UTF-8" },
        });
        expect(run.stderr).toBe("");
        const found = run.stdout.split("\n").map((line) => line.replace(/[\t:].*/, ""));
        return found.filter((word) => word !== "" && word.startsWith(words.at(-1) ?? "")).toSorted();
      };
      expect(complete("hermes", "co")).toEqual(["completion", "config"]);
      expect(complete("hermes", "-p", "work", "config", "s")).toEqual(["schema", "set", "show"]);
      expect(complete("hermes", "config", "set", "terminal.ba")).toEqual(["terminal.backend"]);
      expect(complete("hermes", "config", "set", "approvals.mode", "")).toEqual(["manual", "off", "smart"]);
      expect(complete("hermes", "config", "set", "model.default", "terminal")).toEqual([]);
      expect(complete("hermes", "chat", "--output-format", "")).toEqual(["events", "json", "text"]);
      expect(complete("hermes", "sessions", "list", "--js")).toEqual(["--json"]);
      expect(complete("hermes", "kanban", "boards", "swi")).toEqual(["switch"]);
      expect(complete("hermes", "kanban", "super")).toEqual([]); // an internal verb
    },
  );
}

test("an unknown shell is refused with the known ones", async () => {
  await using home = await tempHome();
  expect(await home.hermes(["completion", "tcsh"])).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining("bash, zsh, fish"),
  });
});
