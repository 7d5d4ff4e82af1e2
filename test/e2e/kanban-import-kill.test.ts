import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { Task } from "../../src/board/task.ts";
import { tempHome } from "../support/hermes.ts";
import { openOwnDatabase } from "../support/own-database.ts";
import { scale } from "../support/scale.ts";
import { describeWith } from "../support/services.ts";

const LONG = { timeout: 600_000 };
const soon = { timeout: 150_000, interval: 20 };
const TASKS = 400;

/** The export of a board with many tasks and a file. */
async function largeExport(): Promise<readonly string[]> {
  await using home = await tempHome();
  const { id } = (await home.hermes(["kanban", "create", "with a file", "--json"])).json<Task>();
  const file = join(home.folder, "photo.bin");
  await writeFile(file, Buffer.alloc(500_000));
  await home.hermes(["kanban", "attach", id, file]);
  const lines = (await home.hermes(["kanban", "export"])).stdout.trimEnd().split("\n");
  const one = lines.find((line) => line.includes('"table":"task"')) ?? "";
  const more = Array.from({ length: TASKS }, (_, number) =>
    one.replaceAll(id, `t_${String(number).padStart(12, "0")}`).replace('"seq":1,', `"seq":${number + 2},`),
  );
  const count = (line: string) =>
    line.replace(/^\{"end":\{"rows":(\d+)\}\}$/, (_, rows) => `{"end":{"rows":${Number(rows) + TASKS}}}`);
  return lines.flatMap((line) => (line === one ? [one, ...more] : [count(line)]));
}

function killContract(
  openEnv: () => Promise<AsyncDisposable & { readonly env: Record<string, string> }>,
): void {
  test("a killed import leaves no board, and the next import removes its remains", LONG, async () => {
    await using database = await openEnv();
    await using home = await tempHome();
    const { env } = database;
    const lines = await largeExport();
    const slugs = async () =>
      (await home.hermes(["kanban", "boards", "list", "--json"], { env }))
        .json<{ slug: string; counts: Record<string, number> }[]>()
        .map(({ slug }) => slug);
    const all = async (): Promise<string[]> =>
      (await readdir(home.path, { recursive: true })).map((path) => String(path));

    // Killed in the middle of a file, after all rows have arrived.
    const { child, ended } = home.start(["kanban", "import", "-", "--as", "new"], { env, stdin: "open" });
    const part = lines.findIndex((line) => line.startsWith('{"file":'));
    child.stdin.write(`${lines.slice(0, part + 1).join("\n")}\n`);
    await expect.poll(async () => (await all()).some((path) => path.endsWith("photo.bin")), soon).toBe(true);
    child.kill("SIGKILL");
    await ended;
    expect(await slugs()).toEqual(["default"]);

    // Killed at a random time.
    const text = lines.join("\n");
    for (let round = 0; round < scale.kills; round++) {
      const killWhen = (signal: AbortSignal) => sleep(150 + Math.random() * 1_500, undefined, { signal });
      await home.hermes(["kanban", "import", "-", "--as", "new"], { env, stdin: text, killWhen });
      if (!(await slugs()).includes("new")) continue;
      const { stdout } = await home.hermes(
        ["kanban", "--board", "new", "list", "--json", "--limit", "9999"],
        { env },
      );
      expect(JSON.parse(stdout)).toHaveLength(TASKS + 1);
      await home.hermes(["kanban", "--board", "new", "boards", "rm", "new", "--delete", "--yes"], { env });
    }
    // Killed before it created its folder, or after it removed the folder.
    await writeFile(join(home.path, "kanban", "importing", "0123456789abcdef.lock"), "");
    const last = await home.hermes(["kanban", "import", "-", "--as", "new", "--json"], { env, stdin: text });
    expect(last.json(), last.stderr).toMatchObject({ slug: "new", damaged: [] });
    expect(await slugs()).toEqual(["default", "new"]);
    expect((await all()).filter((path) => path.includes("importing/"))).toEqual([]);
  });
}

describe("on SQLite", () => {
  killContract(async () => ({ env: {}, [Symbol.asyncDispose]: async () => undefined }));
});

describeWith("postgres", "on PostgreSQL", ({ url }) => {
  killContract(async () => {
    const database = await openOwnDatabase(url);
    return {
      env: { HERMES_KANBAN_DATABASE_URL: database.url },
      [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
    };
  });
});
