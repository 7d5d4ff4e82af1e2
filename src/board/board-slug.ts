import { createHash } from "node:crypto";
import { join } from "node:path";
import { AppError } from "../lib/errors.ts";
import { shorten } from "../lib/shorten.ts";

export const DEFAULT_BOARD = "default";
const SLUG = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** The slug in a text that a person wrote; throws `board-slug-invalid`. */
export function parseBoardSlug(text: string): string {
  const slug = text.trim().toLowerCase();
  if (SLUG.test(slug)) return slug;
  const shown = JSON.stringify(shorten(text, 80));
  throw new AppError("board-slug-invalid", `${shown} is not the slug of a board.`);
}

/** What a board is called until someone names it. */
export function boardNameOf(slug: string): string {
  return slug.replace(/[_-]+/g, " ").replace(/(^| )\p{L}/gu, (start) => start.toUpperCase());
}

/** The folder of a board's files, which for the default one is the root home itself. */
export function boardFolder(root: string, slug: string): string {
  return slug === DEFAULT_BOARD ? root : join(root, "kanban", "boards", slug);
}

export function boardPath(root: string, slug: string): string {
  return join(boardFolder(root, slug), "board.sqlite");
}

/** How the PostgreSQL schema of every board begins. */
export const BOARD_SCHEMA = "hermes_board_";
const LONGEST_PLAIN = 49;

/** The PostgreSQL schema of a board. Names there end at 63 characters, so a long slug is cut and told apart by its hash. */
export function boardSchemaName(slug: string): string {
  if (slug.length <= LONGEST_PLAIN) return `${BOARD_SCHEMA}${slug}`;
  const hash = createHash("sha256").update(slug).digest("hex").slice(0, 16);
  return `${BOARD_SCHEMA}${slug.slice(0, LONGEST_PLAIN + 1 - 17)}_${hash}`;
}
