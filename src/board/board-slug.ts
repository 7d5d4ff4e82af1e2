import { createHash } from "node:crypto";
import { join } from "node:path";
import { AppError } from "../lib/errors.ts";
import { shorten } from "../lib/text/shorten.ts";

export const DEFAULT_BOARD = "default";
const SLUG = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** Parses the slug of a board from user input; throws `board-slug-invalid`. */
export function parseBoardSlug(text: string): string {
  const slug = text.trim().toLowerCase();
  if (SLUG.test(slug)) return slug;
  const shown = JSON.stringify(shorten(text, 80));
  throw new AppError("board-slug-invalid", `${shown} is not a valid board slug.`);
}

/** The default name of a board, derived from its slug. */
export function defaultBoardName(slug: string): string {
  return slug.replace(/[_-]+/g, " ").replace(/(^| )\p{L}/gu, (start) => start.toUpperCase());
}

/** The folder that holds a board's files; for the default board this is the root home itself. */
export function boardFolder(root: string, slug: string): string {
  return slug === DEFAULT_BOARD ? root : join(root, "kanban", "boards", slug);
}

export function boardPath(root: string, slug: string): string {
  return join(boardFolder(root, slug), "board.sqlite");
}

/** Prefix of the PostgreSQL schema of every board. */
export const BOARD_SCHEMA_PREFIX = "hermes_board_";
const LONGEST_PLAIN = 49;

/** The PostgreSQL schema of a board. Names have at most 63 characters, so a hash replaces the end of a long slug. */
export function boardSchemaName(slug: string): string {
  if (slug.length <= LONGEST_PLAIN) return `${BOARD_SCHEMA_PREFIX}${slug}`;
  const hash = createHash("sha256").update(slug).digest("hex").slice(0, 16);
  return `${BOARD_SCHEMA_PREFIX}${slug.slice(0, LONGEST_PLAIN + 1 - 17)}_${hash}`;
}
