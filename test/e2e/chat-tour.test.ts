import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import type { ScriptInput } from "../../src/providers/scripted/script.ts";
import { ENTRY } from "../support/built-program.ts";
import { startScriptedServer } from "../support/scripted-server.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { hasTmux, openTmux } from "../support/tmux.ts";

/** The screens of the last run are kept here, to compare them after a change. */
const SCREENS = resolve("node_modules/.cache/hermes-chat-screens");
const SLOW = { command: "i=0; while [ $i -lt 600 ]; do i=$((i+1)); echo step $i; sleep 0.1; done" };
const SCRIPT: ScriptInput = {
  answers: [{ text: "Understood.", times: 500 }],
  turns: [
    {
      when: "look around",
      answers: [
        { text: "Let me look.", tools: [{ name: "terminal", input: { command: "seq 1 100000" } }] },
        { text: "There are **many** lines.\n\n```sh\nseq 1 100000\n```\n" },
      ],
    },
    { when: "be slow", answers: [{ text: "Working.", tools: [{ name: "terminal", input: SLOW }] }] },
    {
      when: "clean up",
      answers: [
        { tools: [{ name: "terminal", input: { command: "rm -rf src; echo removed" } }] },
        { text: "That is settled." },
      ],
    },
    {
      when: "write it",
      answers: [
        { tools: [{ name: "write_file", input: { path: "new.txt", content: "new\n" } }] },
        { text: "I cannot write now." },
      ],
    },
  ],
};

/** A home without a model, a local server that setup finds, and a tmux window to start in. */
async function openTour(columns: number, rows: number) {
  const folder = await tempFolder();
  const server = await startScriptedServer(SCRIPT, { models: ["tiny:1b", "large:70b"] });
  const home = join(folder.path, "home");
  const project = join(folder.path, "project");
  await mkdir(home);
  await mkdir(join(project, "src"), { recursive: true });
  await writeFile(
    join(home, "config.yaml"),
    `approvals: { mode: manual }
providers:
  ollama: { base_url: "${server.url}/v1" }
  lmstudio: { base_url: "http://127.0.0.1:9/v1" }
  vllm: { base_url: "http://127.0.0.1:9/v1" }
  llama-cpp: { base_url: "http://127.0.0.1:9/v1" }
`,
  );
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: project,
    HERMES_HOME: home,
    TERM: "xterm-256color",
    PAGER: "less",
  };
  const window = openTmux(env, project);
  window.resize(columns, rows);
  let taken = 0;
  mkdirSync(SCREENS, { recursive: true });
  // With -J, tmux prints erased cells as spaces.
  const screen = (): string => window.screen().replace(/ +$/gm, "");
  return {
    ...window,
    screen,
    async shows(text: string | RegExp): Promise<void> {
      await expect.poll(screen, { message: `the window shows ${text}`, timeout: 30_000 }).toMatch(text);
    },
    home,
    project,
    /** Types a line and presses Enter. */
    enter(text: string) {
      window.type(text);
      window.press("Enter");
    },
    /** Saves the screen to a file. */
    keep(name: string) {
      const number = `${++taken}`.padStart(2, "0");
      const text = window.tmux("capture-pane", "-p");
      writeFileSync(join(SCREENS, `${columns}x${rows}-${number}-${name}.txt`), text);
    },
    killChat() {
      const shell = window.tmux("display", "-p", "#{pane_pid}").trim();
      const pids = execFileSync("ps", ["-o", "pid=", "--ppid", shell], { encoding: "utf8" });
      process.kill(Number(pids.trim().split("\n")[0]), "SIGKILL");
    },
    async [Symbol.asyncDispose]() {
      window[Symbol.dispose]();
      await server[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

type Tour = Awaited<ReturnType<typeof openTour>>;

const READY = /❯\n[^\n]*(?:asks|plan|YOLO)$/;

async function firstRun(tour: Tour): Promise<void> {
  await tour.shows(/[#$]$/);
  tour.enter(`'${process.execPath}' '${ENTRY}'`);
  await tour.shows("Number [1]:");
  tour.keep("first-run");
  tour.press("Enter");
  await tour.shows("Model, by number or name");
  tour.press("Enter");
  await tour.shows("Write this?");
  tour.keep("setup");
  tour.press("Enter");
  await tour.shows("/help");
  await tour.shows(READY);
  tour.keep("chat");
}

/** Answers a question. A number that was typed in its first second has to be typed again. */
async function answer(tour: Tour, number: string, done: string): Promise<void> {
  tour.enter(number);
  await tour.shows(new RegExp(`Type\\s+${number}\\s+again|${done}`));
  if (!tour.screen().includes(done)) tour.enter(number);
  await tour.shows(done);
}

describe.skipIf(!hasTmux)("in tmux", () => {
  test.each([
    [80, 24],
    [120, 40],
    [200, 50],
  ])(
    "C15, C16, C24, C33: a tour of the chat at %i x %i, from the first run to a resume after kill -9",
    async (columns, rows) => {
      await using tour = await openTour(columns, rows);
      const log = join(tour.project, "bytes");
      tour.tmux("pipe-pane", `cat > '${log}'`);
      await firstRun(tour);

      tour.enter("look around");
      await tour.shows("There are many lines.");
      await tour.shows(READY);
      expect(tour.screen()).toMatch(/all of it: \/out 1\n {4}99996\n[\s\S]* {4}100000\n {2}✓/);
      tour.keep("output");
      tour.enter("/out 1");
      await tour.shows(/\n:$/);
      tour.press("G");
      await tour.shows(/99999\n100000\n+[^\n]*END/);
      tour.press("q");
      await tour.shows(READY);
      tour.enter("/copy code");
      await tour.shows("Copied with tmux");
      expect(tour.tmux("show-buffer")).toBe("seq 1 100000\n");

      tour.enter("be slow");
      await tour.shows(/2 terminal [^\n]*\n {4}step \d+/);
      tour.enter("also update the changelog");
      await tour.shows("queued 1: also update the changelog");
      tour.enter("use vitest");
      await tour.shows("queued 2: use vitest");
      tour.press("Enter");
      await tour.shows("steer, seen after this call: use vitest");
      tour.keep("steer-and-queue");
      tour.press("Escape");
      await tour.shows("? Stopped.");
      await tour.shows("queued 1: use vitest");
      tour.keep("stopped");
      tour.enter("/queue clear");
      await expect.poll(() => tour.screen().split("\n").slice(-4).join("\n")).not.toContain("queued");

      tour.enter("clean up");
      await tour.shows("3 terminal wants to run, in ~ · asks because: It");
      tour.type("and a draft");
      await tour.shows("Tab: draft aside");
      tour.keep("approval");
      tour.press("Tab");
      await tour.shows("aside: and a draft");
      await answer(tour, "1", "approved by");
      await tour.shows(/ {4}removed\n {2}✓/);
      tour.press("C-s");
      tour.press("C-c");
      tour.enter("clean up again");
      await tour.shows("4 terminal wants to run");
      await answer(tour, "4", "denied by");
      await tour.shows(/✗ not run/);
      await tour.shows(READY);
      tour.keep("denied");

      tour.enter("/plan");
      await tour.shows("Plan mode is on");
      tour.enter("write it");
      await tour.shows(/✗ not run: Plan mode/);
      await tour.shows("I cannot write now.");
      tour.keep("plan");
      tour.enter("/plan off");
      await tour.shows("Plan mode is off");
      tour.enter("/yolo");
      await tour.shows(/· YOLO$/);
      tour.keep("yolo");
      tour.enter("/yolo off");
      await tour.shows(READY);

      tour.enter("/model");
      await tour.shows("model: ");
      tour.type("large");
      await tour.shows(/❯ large:70b/);
      tour.keep("model");
      tour.press("Escape");
      await tour.shows(READY);

      const paste = join(tour.project, "paste.txt");
      writeFileSync(paste, Array.from({ length: 2_000 }, (_, at) => `pasted ${at}`).join("\n"));
      tour.tmux("load-buffer", paste);
      tour.tmux("paste-buffer", "-p");
      await tour.shows("[paste #1 +2000 lines]");
      tour.keep("paste");
      tour.press("C-c");

      await tour.shows(READY);
      tour.press("C-z");
      await tour.shows(/Stopped[^\n]*\n[^\n]*[#$]$/);
      tour.enter("stty -a | grep -c -- -icanon");
      await tour.shows(/\n0\n[^\n]*[#$]$/);
      tour.enter("fg");
      await tour.shows(READY);

      tour.enter("be slow, again");
      await tour.shows(/\n {4}step \d+/);
      tour.enter("unsent");
      await tour.shows("queued 1: unsent");
      await expect.poll(() => unsentOf(tour.home)).toContain('"queue":["unsent"]');
      tour.killChat();
      await tour.shows("Killed");
      tour.type("stty sane");
      tour.press("C-j"); // the killed chat has left the terminal as it was
      await tour.shows(/Killed\n[#$] [#$]/); // two prompts; the status row below the first has a `$` of its own
      tour.enter(`clear; '${process.execPath}' '${ENTRY}' -c`);
      await tour.shows("The last turn was cut off in call");
      await tour.shows("queued 1: unsent");
      tour.keep("resumed");

      const bytes = await readFile(log, "utf8");
      for (const mode of ["?9h", "?1000h", "?1002h", "?1003h", "?1004h", "?1005h", "?1006h", "?1015h"])
        expect(bytes).not.toContain(`\u001b[${mode}`);
      expect(bytes).not.toContain("\u001b[2J\u001b[3J");
    },
  );

  test("C10: at 20 x 6 a message is answered, a question is answered, and the mode stays visible", async () => {
    await using tour = await openTour(80, 24);
    await firstRun(tour);
    tour.resize(20, 6);
    const rows = (): string[] => tour.tmux("capture-pane", "-p").trimEnd().split("\n");
    await expect.poll(() => rows().at(-1)).toBe("asks");
    tour.enter("hello");
    await tour.shows("Understood.");
    tour.enter("clean up");
    await expect.poll(() => rows().join("\n")).toMatch(/means no|or\s+silence|number/);
    tour.keep("tiny-approval");
    await answer(tour, "4", "denied");
    await tour.shows("That is settled.");
    tour.keep("tiny");
    tour.resize(80, 24);
    await tour.shows(READY);
    tour.keep("grown-back");
  });
});

async function unsentOf(home: string): Promise<string> {
  const names = (await readdir(join(home, "drafts")).catch(() => [])).filter((name) =>
    name.endsWith(".json"),
  );
  const texts = await Promise.all(
    names.map((name) => readFile(join(home, "drafts", name), "utf8").catch(() => "")),
  );
  return texts.join("\n");
}
