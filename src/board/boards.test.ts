import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import pg from "pg";
import { describe, expect, test } from "vitest";
import { codeOf } from "../../test/support/board-lab.ts";
import { describeWith } from "../../test/support/services.ts";
import { tempFolder } from "../../test/support/temp-folder.ts";
import { boardFolder, boardSchemaName } from "./board-slug.ts";
import { openBoardStore } from "./board-store.ts";
import { findCurrentBoard, switchBoard } from "./current-board.ts";
import { listBoards, listRemovedBoards } from "./list-boards.ts";
import { removeBoard } from "./remove-board.ts";
import { dropReserved, reserveBoard } from "./reserve-board.ts";

const never = new AbortController().signal;
const NOW = Date.UTC(2026, 0, 1);

interface Boards extends AsyncDisposable {
  readonly place: { readonly root: string; readonly databaseUrl: string };
  /** Of a server that other tests use too, only those of this one. */
  mine(found: readonly string[]): readonly string[];
  readonly slug: string;
}

function boardsContract(open: () => Promise<Boards>): void {
  const make = async ({ place }: Boards, slug: string): Promise<void> => {
    await using board = await openBoardStore({ ...place, slug, create: true }, {}, never);
    await board.as({ kind: "operator", name: "o" }).create({ title: "a" }, never);
  };

  test("A1: all boards are listed, default first, whatever the length of their slugs", async () => {
    await using boards = await open();
    const long = `${boards.slug}-${"x".repeat(64)}`.slice(0, 64);
    for (const slug of [boards.slug, long]) await make(boards, slug);
    const found = await listBoards(boards.place, never);
    expect(found[0]).toBe("default");
    expect(boards.mine(found)).toEqual([boards.slug, long]);
  });

  test("A1: a removed board is kept aside, no longer meant, and its slug is free again", async () => {
    await using boards = await open();
    const { place, slug } = boards;
    await make(boards, slug);
    await switchBoard(place.root, slug);
    const kept = await removeBoard(place, slug, { forGood: false, now: NOW }, never);
    expect(boards.mine(await listBoards(place, never))).toEqual([]);
    expect(await listRemovedBoards(place, never)).toContain(kept);
    expect(await findCurrentBoard(place.root)).toBeUndefined();
    await using again = await openBoardStore({ ...place, slug, create: true }, {}, never);
    expect((await again.list({}, never)).tasks).toEqual([]);
  });

  test("A1: a board that was removed twice is kept twice, and one that was deleted is gone", async () => {
    await using boards = await open();
    const { place, slug } = boards;
    const before = (await listRemovedBoards(place, never)).length;
    const kept = new Set<string | undefined>();
    for (const forGood of [false, false, true]) {
      await make(boards, slug);
      kept.add(await removeBoard(place, slug, { forGood, now: NOW }, never));
    }
    expect(kept.size).toBe(3);
    expect((await listRemovedBoards(place, never)).length).toBeGreaterThanOrEqual(before + 2);
    const again = removeBoard(place, slug, { forGood: true, now: NOW }, never);
    expect(await codeOf(again)).toBe("board-not-found");
    const always = removeBoard(place, "default", { forGood: true, now: NOW }, never);
    expect(await codeOf(always)).toBe("board-action-denied");
  });

  test("of eight who want one slug, one gets it, and can give it back", async () => {
    await using boards = await open();
    const { place, slug } = boards;
    const got = await Promise.all(Array.from({ length: 8 }, () => reserveBoard(place, slug, never)));
    expect(got.filter(Boolean)).toHaveLength(1);
    expect(boards.mine(await listBoards(place, never))).toEqual([]);
    await dropReserved(place, slug);
    await dropReserved(place, slug);
    expect(await reserveBoard(place, slug, never)).toBe(true);
    await make(boards, slug);
    expect(boards.mine(await listBoards(place, never))).toEqual([slug]);
  });
}

describe("boards in files", () => {
  boardsContract(async () => {
    const folder = await tempFolder();
    return {
      place: { root: folder.path, databaseUrl: "" },
      slug: "mine",
      mine: (found) => found.filter((slug) => slug !== "default"),
      [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
    };
  });
});

describeWith("postgres", "boards on a server", ({ url }) => {
  const open = async (): Promise<Boards> => {
    const folder = await tempFolder();
    const slug = `boards-${randomBytes(6).toString("hex")}`;
    return {
      place: { root: folder.path, databaseUrl: url },
      slug,
      mine: (found) => found.filter((one) => one.startsWith(slug)),
      async [Symbol.asyncDispose]() {
        const client = new pg.Client({ connectionString: url });
        await client.connect();
        const { rows } = await client.query<{ name: string }>(
          "select nspname as name from pg_namespace where strpos(nspname, $1) > 0",
          [slug],
        );
        for (const { name } of rows) await client.query(`drop schema "${name}" cascade`);
        await client.end();
        await folder[Symbol.asyncDispose]();
      },
    };
  };
  boardsContract(open);

  test("files of a removed board's tasks go with it", async () => {
    await using boards = await open();
    const { place, slug } = boards;
    await using board = await openBoardStore({ ...place, slug, create: true }, {}, never);
    const folder = boardFolder(place.root, slug);
    await mkdir(`${folder}/attachments`, { recursive: true });
    await writeFile(`${folder}/attachments/x`, "x");
    await removeBoard(place, slug, { forGood: false, now: NOW }, never);
    expect(existsSync(folder)).toBe(false);
    expect(boardSchemaName(slug)).toContain(slug);
    // Whoever had it open is told plainly.
    expect(await codeOf(board.stats(never))).toBe("board-not-found");
  });
});
