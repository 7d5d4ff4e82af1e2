import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { silentLog } from "../../../test/support/silent-log.ts";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { openGatewayDatabase } from "../store/gateway-database.ts";
import { listHookFolders } from "./hook-folders.ts";
import { loadHooks } from "./hooks.ts";
import { createTrustedHooks } from "./trusted-hooks.ts";

async function openLab() {
  const folder = await tempFolder();
  const hooks = join(folder.path, "hooks");
  const database = await openGatewayDatabase(folder.file("gateway.sqlite"), systemClock, neverAborted);
  const trusted = createTrustedHooks(database);
  const seen = folder.file("seen");
  return {
    hooks,
    trusted,
    async write(name: string, manifest: string, files: Readonly<Record<string, string>> = {}): Promise<void> {
      await mkdir(join(hooks, name), { recursive: true });
      for (const [file, text] of Object.entries({ "hook.yaml": manifest, ...files }))
        await writeFile(join(hooks, name, file), text);
    },
    async trust(): Promise<void> {
      for (const { name, hash } of await listHookFolders(hooks))
        await trusted.trust(name, hash, neverAborted);
    },
    load: () =>
      loadHooks(
        { folder: hooks, trusted, variables: { PATH: process.env["PATH"], SEEN: seen }, log: silentLog },
        neverAborted,
      ),
    read: () => readFile(seen, "utf8").catch(() => ""),
    async [Symbol.asyncDispose]() {
      database[Symbol.dispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

const WATCHER = 'description: watches\nevents: ["agent:end", "command:*"]\ncommand: sh run.sh\n';

test("F1: a trusted hook gets the events that it names, in their order, as JSON", async () => {
  await using lab = await openLab();
  await lab.write("watch", WATCHER, { "run.sh": 'cat >> "$SEEN"' });
  await lab.trust();
  const hooks = await lab.load();
  hooks.fire({ event: "agent:start" });
  hooks.fire({ event: "command:new", platform: "irc" });
  hooks.fire({ event: "agent:end", text: "x".repeat(600) });
  await hooks.waitUntilIdle();
  const events = (await lab.read())
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { event: string; text?: string });
  expect(events.map(({ event }) => event)).toEqual(["command:new", "agent:end"]);
  expect(events[1]?.text).toHaveLength(500);
});

test("F1: a hook that is new or was changed is not run", async () => {
  await using lab = await openLab();
  await lab.write("watch", WATCHER, { "run.sh": 'echo ran >> "$SEEN"' });
  const fresh = await lab.load();
  fresh.fire({ event: "agent:end" });
  await fresh.waitUntilIdle();
  await lab.trust();
  await lab.write("watch", WATCHER, { "run.sh": 'echo changed >> "$SEEN"' });
  const changed = await lab.load();
  changed.fire({ event: "agent:end" });
  await changed.waitUntilIdle();
  expect(await lab.read()).toBe("");
});

test("F1: a hook that fails, hangs or is broken affects no other hook", async () => {
  await using lab = await openLab();
  await lab.write("a-bad", "events: [agent:end]\ncommand: exit 3\n");
  await lab.write("b-broken", "events: [agent:ending]\ncommand: x\n");
  await lab.write("c-good", 'events: [agent:end]\ncommand: echo good >> "$SEEN"\n');
  await mkdir(join(lab.hooks, "d-empty"));
  await lab.trust();
  const hooks = await lab.load();
  hooks.fire({ event: "agent:end" });
  await hooks.waitUntilIdle();
  expect(await lab.read()).toBe("good\n");
  const [, broken, , empty] = await listHookFolders(lab.hooks);
  expect(broken?.manifest).toMatchObject({
    problem: expect.stringContaining("agent:ending is not an event"),
  });
  expect(empty?.manifest).toMatchObject({ problem: "it has no hook.yaml" });
});
