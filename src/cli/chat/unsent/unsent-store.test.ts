import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { type ProcessIdentity, readOwnIdentity } from "../../../lib/process/process-identity.ts";
import { createUnsentStore, type UnsentOwner } from "./unsent-store.ts";

const { signal } = new AbortController();
const OWNER: UnsentOwner = { sessionId: "s1", isStored: true, folder: "/work" };

async function deadIdentity(): Promise<ProcessIdentity> {
  return { ...(await readOwnIdentity(signal)), startTime: "0" };
}

test("C23: one chat takes over everything that two killed chats of its session left", async () => {
  await using folder = await tempFolder();
  const dead = await deadIdentity();
  await createUnsentStore(folder.path, dead).write(OWNER, { draft: "a", stash: "s", queue: ["q1"] });
  await createUnsentStore(folder.path, dead).write(OWNER, { draft: "b", stash: "", queue: ["q2"] });
  const own = await readOwnIdentity(signal);
  const stores = Array.from({ length: 4 }, () => createUnsentStore(folder.path, own));
  const taken = await Promise.all(stores.map((store) => store.take(OWNER, signal)));
  const found = taken.filter((one) => one !== undefined);
  expect(found).toHaveLength(1);
  const { draft = "", stash = "", queue = [] } = found[0] ?? {};
  expect([draft, stash, ...queue].sort()).toEqual(["a", "b", "q1", "q2", "s"]);
});

test("C23: texts of other sessions and of running chats stay where they are", async () => {
  await using folder = await tempFolder();
  const dead = await deadIdentity();
  await createUnsentStore(folder.path, dead).write(
    { ...OWNER, sessionId: "s10" },
    { draft: "other", stash: "", queue: [] },
  );
  const own = await readOwnIdentity(signal);
  await createUnsentStore(folder.path, own).write(OWNER, { draft: "running", stash: "", queue: [] });
  expect(await createUnsentStore(folder.path, own).take(OWNER, signal)).toBeUndefined();
});

test("C23: a damaged file is ignored", async () => {
  await using folder = await tempFolder();
  await mkdir(folder.path, { recursive: true });
  await writeFile(join(folder.path, "s1.0.json"), '{"version":1,"dra');
  const store = createUnsentStore(folder.path, await readOwnIdentity(signal));
  expect(await store.take(OWNER, signal)).toBeUndefined();
});

test("a text that was sent leaves no file", async () => {
  await using folder = await tempFolder();
  const store = createUnsentStore(folder.path, await deadIdentity());
  await store.write(OWNER, { draft: "a", stash: "", queue: [] });
  await store.write(OWNER, { draft: "", stash: "", queue: [] });
  expect(
    await createUnsentStore(folder.path, await readOwnIdentity(signal)).take(OWNER, signal),
  ).toBeUndefined();
});
