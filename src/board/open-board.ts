import { randomBytes } from "node:crypto";
import { access } from "node:fs/promises";
import { AppError } from "../lib/errors.ts";
import { type Clock, systemClock } from "../lib/time/clock.ts";
import { boardPath, boardSchemaName, DEFAULT_BOARD, defaultBoardName, parseBoardSlug } from "./board-slug.ts";
import type { BoardDatabase } from "./database/board-database.ts";
import { openPostgresBoard } from "./database/postgres-board-database.ts";
import { openSqliteBoard } from "./database/sqlite-board-database.ts";
import { first, only, run } from "./database/steps.ts";

export interface BoardLocation {
  /** The root home, shared by all profiles. */
  readonly root: string;
  /** PostgreSQL URL; empty means SQLite files in the root home. */
  readonly databaseUrl: string;
  readonly slug: string;
  /** Whether to create a missing board; the default board is always created. */
  readonly create?: boolean;
  /** The temporary path or schema in which a board is filled before it gets its slug. */
  readonly stagingName?: string;
}

export interface OpenBoardOptions {
  readonly clock?: Clock;
  readonly busyDeadlineMs?: number;
  readonly connections?: number;
}

export interface OpenBoard {
  readonly slug: string;
  readonly identity: string;
  readonly database: BoardDatabase;
}

/** Opens the database of a board; throws `board-not-found` when it does not exist and `create` is not set. */
export async function openBoard(
  location: BoardLocation,
  options: OpenBoardOptions,
  signal: AbortSignal,
): Promise<OpenBoard> {
  const slug = parseBoardSlug(location.slug);
  const database = await openDatabase({ ...location, slug }, options, signal);
  try {
    return { slug, identity: await requireIdentity(slug, database, signal), database };
  } catch (error) {
    await database[Symbol.asyncDispose]();
    throw error;
  }
}

async function openDatabase(
  { root, databaseUrl, slug, create = false, stagingName }: BoardLocation,
  { clock = systemClock, ...options }: OpenBoardOptions,
  signal: AbortSignal,
): Promise<BoardDatabase> {
  const mayCreate = create || slug === DEFAULT_BOARD;
  if (databaseUrl !== "") {
    const schema = stagingName ?? boardSchemaName(slug);
    return openPostgresBoard({ url: databaseUrl, schema, create: mayCreate, ...options }, signal);
  }
  const path = stagingName ?? boardPath(root, slug);
  if (!mayCreate) await requireFile(path, slug);
  return openSqliteBoard({ path, clock, ...options }, signal);
}

async function requireFile(path: string, slug: string): Promise<void> {
  try {
    await access(path);
  } catch (error) {
    throw new AppError("board-not-found", `There is no board ${slug}.`, { cause: error });
  }
}

/** Reads the identity of the board, or assigns one to a board that is new or was created by an older version. */
async function requireIdentity(slug: string, database: BoardDatabase, signal: AbortSignal): Promise<string> {
  const known = await database.read(() => first<{ identity: string | null }>(IDENTITY), signal);
  if (typeof known?.identity === "string") return known.identity;
  const fresh = randomBytes(8).toString("hex");
  return database.write(function* () {
    yield* run(FIRST_ROW, { slug, name: defaultBoardName(slug) });
    yield* run("update board set identity = :fresh where identity is null", { fresh });
    return (yield* only<{ identity: string }>(IDENTITY)).identity;
  }, signal);
}

const IDENTITY = "select identity from board";
const FIRST_ROW = `
  insert into board (id, slug, name, created_at) values (1, :slug, :name, hermes_now()) on conflict do nothing`;
