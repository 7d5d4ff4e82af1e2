import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as pty from "@lydell/node-pty";
import type * as Xterm from "@xterm/headless";
import { screenToSvg } from "./screen-svg.ts";

/**
 * A picture in docs/pictures, drawn from a real screen of the built program: `npx tsx scripts/pictures.ts [NAME…]`. Run it when the
 * screens have changed; a build does not.
 */
interface Picture {
  readonly title: string;
  readonly rows: number;
  readonly args: readonly string[];
  /** The texts to wait for, each with the keys to type after it. The picture is taken after the last one. */
  readonly steps: readonly (readonly [shown: RegExp, keys: string])[];
}

/** Loaded with `require`, because Node finds no named exports in this CommonJS bundle. */
const { Terminal } = createRequire(import.meta.url)("@xterm/headless") as typeof Xterm;
const ENTRY = fileURLToPath(new URL("../dist/main.cjs", import.meta.url));
const FOLDER = fileURLToPath(new URL("../docs/pictures", import.meta.url));
const COLUMNS = 80;

const SCRIPT = {
  context_tokens: 200_000,
  answers: [
    {
      text: "I run the test first.",
      tools: [
        { name: "terminal", input: { command: "node --test login.test.mjs 2>&1 | grep -m1 Expected" } },
      ],
      usage: { input: 2_900, output: 60 },
    },
    {
      text: "`findUser` compares the **whole** address, and the form sends capitals.",
      tools: [
        {
          name: "patch",
          input: {
            path: "login.mjs",
            old_string: "user.mail === mail",
            new_string: "user.mail === mail.toLowerCase()",
          },
        },
      ],
      usage: { input: 3_100, output: 90 },
    },
    {
      text: "Fixed: addresses are compared in lower case.\n\n- `login.mjs` has **one** changed line\n- the test passes now",
      usage: { input: 3_300, output: 70 },
    },
    {
      text: "Shall I push?",
      tools: [{ name: "terminal", input: { command: "git push --force origin main" } }],
      usage: { input: 3_500, output: 40 },
    },
  ],
};

const PROJECT = {
  "login.mjs": `const users = [{ name: "Ada", mail: "ada@example.org" }];

export function findUser(mail) {
  return users.find((user) => user.mail === mail);
}
`,
  "login.test.mjs": `import assert from "node:assert";
import { test } from "node:test";
import { findUser } from "./login.mjs";

test("a user is found by her address", () => {
  assert.ok(findUser("Ada@example.org"), "Expected a user for Ada@example.org");
});
`,
};

const PICTURES: Readonly<Record<string, Picture>> = {
  chat: {
    title: "The chat of Hermes: a question, calls, a diff, an answer, and a call that waits for approval",
    rows: 44,
    args: [],
    steps: [
      [/\/help/, "why does the login test fail?\r"],
      [/passes now/, "push it\r"],
      [/\? 3 terminal[\s\S]*4 no/, ""],
    ],
  },
  board: {
    title: "hermes demo board: three profiles work through eight tasks",
    rows: 44,
    args: ["demo", "board", "--fast"],
    steps: [[/done[\s\S]*done[\s\S]*done[\s\S]*done/, ""]],
  },
};

async function draw(name: string, { title, rows, args, steps }: Picture): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), "hermes-picture-"));
  const project = join(home, "shop");
  await mkdir(project);
  for (const [file, content] of Object.entries(PROJECT)) await writeFile(join(project, file), content);
  await writeFile(join(project, "scripted-model"), JSON.stringify(SCRIPT));
  const terminal = new Terminal({ cols: COLUMNS, rows, allowProposedApi: true });
  const child = pty.spawn(process.execPath, [ENTRY, ...args], {
    cols: COLUMNS,
    rows,
    cwd: project,
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: home,
      HERMES_HOME: join(home, ".hermes"),
      HERMES_MODEL_PROVIDER: "scripted",
      HERMES_MODEL_DEFAULT: "scripted-model",
      HERMES_APPROVALS_MODE: "manual",
      TERM: "xterm-256color",
    },
  });
  let ended = false;
  child.onData((text) => terminal.write(text));
  child.onExit(() => {
    ended = true;
  });
  try {
    for (const [shown, keys] of steps) {
      await waitFor(
        () => shown.test(textOf(terminal)) || ended,
        `${name} shows ${shown}`,
        () => textOf(terminal),
      );
      await new Promise((resolve) => setTimeout(resolve, SETTLE_MS)); // the screen may still be changing
      child.write(keys);
    }
    await mkdir(FOLDER, { recursive: true });
    await writeFile(join(FOLDER, `${name}.svg`), screenToSvg(terminal, title));
    process.stdout.write(`docs/pictures/${name}.svg\n${textOf(terminal).trimEnd()}\n`);
  } finally {
    child.write("\u0003\u0003");
    await waitFor(
      () => ended,
      `${name} ends`,
      () => textOf(terminal),
    ).catch(() => child.kill("SIGKILL"));
    await rm(home, { recursive: true, force: true });
  }
}

const SETTLE_MS = 700;
const GIVE_UP_MS = 60_000;

async function waitFor(isTrue: () => boolean, what: string, seen: () => string): Promise<void> {
  const until = Date.now() + GIVE_UP_MS;
  while (!isTrue()) {
    if (Date.now() > until) throw new Error(`${what}: not within a minute. The screen:\n${seen()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function textOf(terminal: Xterm.Terminal): string {
  const { active } = terminal.buffer;
  const lines = Array.from({ length: terminal.rows }, (_, row) =>
    active.getLine(active.baseY + row)?.translateToString(true),
  );
  return lines.join("\n");
}

const wanted = process.argv.slice(2);
for (const [name, picture] of Object.entries(PICTURES))
  if (wanted.length === 0 || wanted.includes(name)) await draw(name, picture);
