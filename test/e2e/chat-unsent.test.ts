import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openChatHome } from "../support/chat-home.ts";

/** The unsent texts that are stored on disk. */
async function keptTexts(home: string): Promise<string> {
  const folder = join(home, "drafts");
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(".json"));
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8").catch(() => "")));
  return texts.join("\n");
}

test("C23: after kill -9, draft and queue are restored on resume, unsent and readable by no other user", async () => {
  await using home = await openChatHome([
    { text: "Working.", tools: [{ name: "terminal", input: { command: "echo begun; sleep 600" } }] },
    { text: "Sent only now." },
  ]);
  {
    using chat = home.start();
    await chat.shows("/help");
    chat.type("go\r");
    await chat.shows(/1 terminal echo begun/);
    chat.type("queued words\r");
    await chat.shows("queued 1: queued words");
    chat.type("half a sen");
    await expect.poll(() => keptTexts(home.path)).toMatch(/half a sen.*queued words/);
    for (const name of await readdir(join(home.path, "drafts")))
      if (name.endsWith(".json"))
        expect((await stat(join(home.path, "drafts", name))).mode & 0o777).toBe(0o600);
    chat.kill();
    await chat.shows("code=137");
  }
  using again = home.start(["-c"]);
  await again.shows("Restored, not sent: your draft and a queued message.");
  await again.shows(/queued 1: queued words[^\n]*\n❯ half a sen/);
  expect(again.screen()).not.toContain("Sent only now.");
  again.type("tence\r");
  await again.shows("Sent only now.");
  await again.shows("❯ half a sentence");
  await expect.poll(() => keptTexts(home.path)).not.toContain("half a sen");
});

test("C23: a second chat in the session does not take the draft of a running one", async () => {
  await using home = await openChatHome([{ text: "Hello." }]);
  using first = home.start();
  await first.shows("/help");
  first.type("hi\r");
  await first.shows("Hello.");
  first.type("mine alone");
  await expect.poll(() => keptTexts(home.path)).toContain("mine alone");
  using second = home.start(["-c"]);
  await second.shows("1 turn");
  second.type("mine too");
  await expect.poll(() => keptTexts(home.path)).toMatch(/mine (?:alone|too)[\s\S]*mine (?:alone|too)/);
  expect(second.screen()).not.toContain("Restored");
});

test("C23: the draft of a chat that never sent anything is restored in the next chat of the folder", async () => {
  await using home = await openChatHome([]);
  {
    using chat = home.start();
    await chat.shows("/help");
    chat.type("first thoughts");
    await expect.poll(() => keptTexts(home.path)).toContain("first thoughts");
    chat.kill();
    await chat.shows("code=137");
  }
  using again = home.start();
  await again.shows(/Restored, not sent: your draft\.[\s\S]*❯ first thoughts/);
});
