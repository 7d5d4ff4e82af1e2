import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import pg from "pg";
import { describe, expect, test } from "vitest";
import { codeOf } from "../../../test/support/board-lab.ts";
import { describeWith } from "../../../test/support/services.ts";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { boardFolder, boardSchemaName } from "../board-slug.ts";
import { openBoardStore } from "../board-store.ts";
import { findCurrentBoard, switchBoard } from "./current-board.ts";
import { listBoards, listRemovedBoards } from "./list-boards.ts";
import { removeBoard } from "./remove-board.ts";
import { withStagedBoard } from "./stage-board.ts";

const NOW = Date.UTC(2026, 0, 1);

interface Boards extends AsyncDisposable {
  readonly location: { readonly root: string; readonly databaseUrl: string };
  /** Keeps only the boards of this test; other tests use the same server. */
  mine(found: readonly string[]): readonly string[];
  readonly slug: string;
}

function boardsContract(open: () => Promise<Boards>): void {
  const createBoard = async ({ location }: Boards, slug: string): Promise<void> => {
    await using board = await openBoardStore({ ...location, slug, create: true }, {}, neverAborted);
    await board.as({ kind: "operator", name: "o" }).create({ title: "a" }, neverAborted);
  };

  test("A1: all boards are listed, default first, including boards with long slugs", async () => {
    await using boards = await open();
    const long = `${boards.slug}-${"x".repeat(64)}`.slice(0, 64);
    for (const slug of [boards.slug, long]) await createBoard(boards, slug);
    const found = await listBoards(boards.location, neverAborted);
    expect(found[0]).toBe("default");
    expect(boards.mine(found)).toEqual([boards.slug, long]);
  });

  test("A1: a removed board is archived, is no longer the current board, and its slug is free again", async () => {
    await using boards = await open();
    const { location, slug } = boards;
    await createBoard(boards, slug);
    await switchBoard(location.root, slug);
    const kept = await removeBoard(location, slug, { permanently: false, now: NOW }, neverAborted);
    expect(boards.mine(await listBoards(location, neverAborted))).toEqual([]);
    expect(await listRemovedBoards(location, neverAborted)).toContain(kept);
    expect(await findCurrentBoard(location.root)).toBeUndefined();
    await using again = await openBoardStore({ ...location, slug, create: true }, {}, neverAborted);
    expect((await again.list({}, neverAborted)).tasks).toEqual([]);
  });

  test("A1: each removal of a board keeps its own copy, and a deleted board is not kept", async () => {
    await using boards = await open();
    const { location, slug } = boards;
    const before = (await listRemovedBoards(location, neverAborted)).length;
    const kept = new Set<string | undefined>();
    for (const permanently of [false, false, true]) {
      await createBoard(boards, slug);
      kept.add(await removeBoard(location, slug, { permanently, now: NOW }, neverAborted));
    }
    expect(kept.size).toBe(3);
    expect((await listRemovedBoards(location, neverAborted)).length).toBeGreaterThanOrEqual(before + 2);
    const again = removeBoard(location, slug, { permanently: true, now: NOW }, neverAborted);
    expect(await codeOf(again)).toBe("board-not-found");
    const always = removeBoard(location, "default", { permanently: true, now: NOW }, neverAborted);
    expect(await codeOf(always)).toBe("board-action-denied");
  });

  test("exactly one of eight concurrent creations of a slug succeeds, and a failed creation leaves nothing behind", async () => {
    await using boards = await open();
    const { location, slug } = boards;
    const create = (fill: () => Promise<void>) =>
      withStagedBoard(location, (staged) => staged.publish(slug, fill), neverAborted);
    const broken = create(async () => {
      expect(boards.mine(await listBoards(location, neverAborted))).toEqual([]);
      throw new Error("broken");
    });
    await expect(broken).rejects.toThrow("broken");
    expect(boards.mine(await listBoards(location, neverAborted))).toEqual([]);
    const got = await Promise.all(Array.from({ length: 8 }, () => create(async () => undefined)));
    expect(got.filter(Boolean)).toHaveLength(1);
    expect(boards.mine(await listBoards(location, neverAborted))).toEqual([slug]);
  });
}

describe("boards in files", () => {
  boardsContract(async () => {
    const folder = await tempFolder();
    return {
      location: { root: folder.path, databaseUrl: "" },
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
      location: { root: folder.path, databaseUrl: url },
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

  test("removing a board also removes the files of its tasks", async () => {
    await using boards = await open();
    const { location, slug } = boards;
    await using board = await openBoardStore({ ...location, slug, create: true }, {}, neverAborted);
    const folder = boardFolder(location.root, slug);
    await mkdir(`${folder}/attachments`, { recursive: true });
    await writeFile(`${folder}/attachments/x`, "x");
    await removeBoard(location, slug, { permanently: false, now: NOW }, neverAborted);
    expect(existsSync(folder)).toBe(false);
    expect(boardSchemaName(slug)).toContain(slug);
    // A store that is still open reports that the board was removed.
    expect(await codeOf(board.stats(neverAborted))).toBe("board-not-found");
  });
});
