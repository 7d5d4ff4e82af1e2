import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempHome } from "../support/hermes.ts";
import { uniqueNick } from "../support/irc-person.ts";
import { startInTerminal, type TerminalSession } from "../support/pty.ts";
import { describeWith } from "../support/services.ts";
import { startTelegramServer } from "../support/telegram-server.ts";

async function openHome(env: Readonly<Record<string, string>> = {}) {
  const home = await tempHome();
  await mkdir(home.path, { mode: 0o700 });
  const variables = {
    PATH: process.env["PATH"] ?? "",
    HOME: home.folder,
    HERMES_HOME: home.path,
    TERM: "xterm-256color",
    ...env,
  };
  return {
    home,
    start: (...args: string[]) =>
      startInTerminal(["gateway", "setup", ...args], { env: variables, cwd: home.folder }),
    read: (name: string) => readFile(join(home.path, name), "utf8").catch(() => undefined),
    [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
  };
}

async function answer(
  terminal: TerminalSession,
  steps: readonly (readonly [question: string, typed: string])[],
): Promise<void> {
  for (const [question, typed] of steps) {
    await terminal.shows(question);
    terminal.type(typed);
  }
}

test("setup of Telegram proves the token before it writes it, and can be run again", async () => {
  await using server = await startTelegramServer();
  await using lab = await openHome({ TELEGRAM_BASE_URL: server.url });
  server.write("wrote before the setup");
  {
    using terminal = await lab.start();
    await answer(terminal, [
      ["Number [1]: ", "3\r"],
      ["send /newbot", ""],
      ["from @BotFather (not shown): ", "7000001:AAF-wrong_token_of_somebody_0123456789abc\r"],
      ["That did not work: Telegram does not accept TELEGRAM_BOT_TOKEN", ""],
      ["Try other values? [Y/n] ", "\r"],
      ["from @BotFather (not shown) [unchanged]: ", `${server.token}\r`],
      ["Logged in as 7000001@telegram.", ""],
      ["who are answered", "1001\r"],
      ["Write this? [Y/n] ", "\r"],
      ["Saved. Start it with", ""],
    ]);
    expect(await terminal.exitCode()).toBe(0);
    expect(terminal.screen()).not.toContain("AAF");
  }
  expect(await lab.read(".env")).toBe(`TELEGRAM_BOT_TOKEN=${server.token}\n`);
  expect(await lab.read("config.yaml")).toMatch(
    /platforms:\n {2}telegram:\n {4}allowed_users:\n? *(- |\[ ?)"?1001/,
  );
  using again = await lab.start("telegram");
  await answer(again, [
    ["[unchanged]: ", "\r"],
    ["Logged in", ""],
    ["[1001]: ", "\r"],
    ["Everything stays as it is", ""],
  ]);
  expect(await again.exitCode()).toBe(0);
});

test("without a terminal, setup says in one line what to do instead", async () => {
  await using lab = await openHome();
  const run = await lab.home.hermes(["gateway", "setup"], { ownProcess: true });
  expect(run.exitCode).not.toBe(0);
  expect(run.stderr.trim().split("\n").length).toBeLessThanOrEqual(2);
  expect(run.stderr).toMatch(/needs a terminal[\s\S]*hermes config set platforms/);
});

describeWith("irc", "setup", (irc) => {
  test("setup of IRC logs in at a real server", async () => {
    await using lab = await openHome();
    const nick = uniqueNick("setup");
    using terminal = await lab.start("irc");
    await answer(terminal, [
      ["Host of the IRC server: ", `${irc.host}\r`],
      ["Its port [6697]: ", "many\r"],
      ["expected a whole number.", `${irc.port}\r`],
      ["encrypted [true]: ", "no\r"],
      ["Our nickname: ", `${nick}\r`],
      ["Password of our nickname", "\r"],
      ["Channels to join: ", "#a, #b\r"],
      ["that is free [false]: ", "\r"],
      ["Logged in as", ""],
      ["who are answered", "\r"],
      ["Write this? [Y/n] ", "\r"],
      ["Saved.", ""],
    ]);
    expect(await terminal.exitCode()).toBe(0);
    expect(await lab.read("config.yaml")).toMatch(new RegExp(`nickname: ${nick}`));
    expect(await lab.read("config.yaml")).toMatch(/#a/);
  });
});
