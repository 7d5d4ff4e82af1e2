import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { ENTRY } from "../support/built-program.ts";
import {
  type DocumentedBlock,
  documentedBlocks,
  documentedPages,
  hermesCommands,
  linkedFiles,
  namedCommands,
} from "../support/documented-blocks.ts";
import { tempHome } from "../support/hermes.ts";
import { openSandboxHome } from "../support/sandbox-home.ts";
import { startScriptedServer } from "../support/scripted-server.ts";
import { describeWith } from "../support/services.ts";

const run = promisify(execFile);
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
/** Why a block may not be run. */
const REASONS = [
  "asks questions at a terminal",
  "opens a chat at a terminal",
  "opens an editor",
  "runs until it is stopped",
  "needs a call that waits for an answer",
  "needs a running gateway",
  "installs, builds and runs all tests",
  "has its own tests",
];
const blocks = documentedPages().flatMap(documentedBlocks);

/** Runs a block as a user would: in its own project, with `hermes` on the PATH and `./hermes` in the folder. */
async function runBlock(
  { script, name }: DocumentedBlock,
  { folder, home, env }: { folder: string; home: string; env: Record<string, string> },
): Promise<void> {
  await using server = await startScriptedServer({ answers: [{ text: '{"ok":true}', times: 999 }] });
  const project = join(folder, "project");
  const bin = join(folder, "bin");
  await Promise.all([project, bin, home].map((path) => mkdir(path, { recursive: true })));
  const files: Record<string, string | Buffer> = {
    "notes.txt": "A note.\n",
    "key.txt": "sk-documented-key\n",
    "s.json": '{"type":"object"}',
    "licences.json": '{"type":"object"}',
    "page.png": Buffer.from(PIXEL, "base64"),
  };
  for (const [file, content] of Object.entries(files)) await writeFile(join(project, file), content);
  for (const launcher of [join(bin, "hermes"), join(project, "hermes")]) {
    await writeFile(launcher, `#!/bin/sh\nexec "${process.execPath}" "${ENTRY}" "$@"\n`);
    await chmod(launcher, 0o755);
  }
  const providers = Object.fromEntries(
    ["anthropic", "openai-api"].map((provider) => [provider, { base_url: `${server.url}/v1` }]),
  );
  await writeFile(join(home, "config.yaml"), JSON.stringify({ providers }));
  await run("git", ["init", "-q"], { cwd: project, env: { ...env, HOME: folder } });
  const result = await run("sh", ["-eu", "-c", `set -x\n${script}`], {
    cwd: project,
    env: {
      ...env,
      HOME: folder,
      HERMES_HOME: home,
      PATH: `${bin}:${env["PATH"]}`,
      ANTHROPIC_API_KEY: "sk-documented-key",
    },
    maxBuffer: 16 * 1024 * 1024,
  }).catch((error: { readonly stderr?: string }) => {
    throw new Error(`${name}: ${error.stderr}`);
  });
  expect(result.stderr).not.toContain("Unexpected error");
}

describe("every command of README.md and docs/guide works as it is written", () => {
  const runnableBlocks = blocks.filter(({ needs, notRun }) => needs === undefined && notRun === undefined);
  test.each(runnableBlocks.map((block) => [block.name, block] as const))("%s", async (_, block) => {
    await using home = await tempHome();
    await runBlock(block, {
      folder: home.folder,
      home: home.path,
      env: { PATH: process.env["PATH"] ?? "" },
    });
  });

  test("a block that is not run names one of the known reasons, and its commands and options exist", async () => {
    const skipped = blocks.filter(({ notRun }) => notRun !== undefined);
    expect(skipped.length).toBeGreaterThan(0);
    await using home = await tempHome();
    for (const { name, notRun = "", script } of skipped) {
      expect(REASONS, name).toContain(notRun);
      for (const words of hermesCommands(script)) {
        const command = words[0] === undefined || words[0].startsWith("-") ? ["chat", ...words] : words;
        const { exitCode, stdout } = await home.hermes([...command, "--help"]);
        expect({ name, words, exitCode }).toEqual({ name, words, exitCode: 0 });
        for (const option of words.filter((word) => /^--?[a-z]/.test(word) && word !== "--version"))
          expect(stdout, `${name}: ${option}`).toContain(option);
      }
    }
  });

  test("each `needs` mark names something that the tests provide", () => {
    for (const { name, needs } of blocks) expect([undefined, "docker"], name).toContain(needs);
  });
});

test("every command that the program's own hints name exists, with its options", async () => {
  await using home = await tempHome();
  const named = new Set(
    namedCommands(await builtProgram())
      .filter(([first]) => first !== "host") // the salt of a digest, which is never printed
      .map((words) => JSON.stringify(words[0]?.startsWith("-") ? ["chat", ...words] : words)),
  );
  const global = (await home.hermes(["--help"])).stdout;
  expect(named.size).toBeGreaterThan(80);
  for (const text of named) {
    const words = JSON.parse(text) as string[];
    const verbs = words.slice(0, words.findIndex((word) => !/^[a-z]/.test(word)) >>> 0).slice(0, 3);
    const { exitCode, stdout, stderr } = await home.hermes([...verbs, "--help"]);
    expect({ words, exitCode, stderr }).toEqual({ words, exitCode: 0, stderr: "" });
    for (const option of words.filter((word) => /^--?[a-z]/.test(word) && !word.includes(".")))
      expect(stdout + global, `${words.join(" ")}`).toContain(option.replace(/=.*/, ""));
  }
});

/** The text of the bundle: everything that the program can print, without comments. */
async function builtProgram(): Promise<string> {
  const folder = dirname(ENTRY);
  const files = (await readdir(folder, { recursive: true })).filter((name) => /\.c?js$/.test(name));
  return (await Promise.all(files.map((name) => readFile(join(folder, name), "utf8")))).join("\n");
}

describeWith("docker", "the commands that need a container engine work as they are written", (docker) => {
  test.each(blocks.filter(({ needs }) => needs === "docker").map((block) => [block.name, block] as const))(
    "%s",
    async (_, block) => {
      await using home = await openSandboxHome(docker);
      await runBlock(block, { folder: home.folder, home: home.path, env: { ...home.variables } });
    },
  );
});

test("the links of the pages, and the files of the package, exist", () => {
  const pages = [...documentedPages(), "docs/approvals.md", "docs/kanban.md", "docs/events.md"];
  const missing = pages.flatMap((page) =>
    linkedFiles(page).flatMap((file) => (existsSync(file) ? [] : [`${page} → ${file}`])),
  );
  expect(missing).toEqual([]);
  const { files } = JSON.parse(readFileSync("package.json", "utf8")) as { readonly files: readonly string[] };
  expect(files.filter((file) => !file.startsWith("!") && !existsSync(file))).toEqual([]);
});
