import type { IconName } from "../components/icon.tsx";
import { words } from "../words/words.ts";

/** A page of the navigation. */
export interface PageRow {
  readonly name: keyof typeof words.shell.pages;
  readonly path: "/" | "/board" | "/sessions" | "/sandboxes";
  readonly icon: IconName;
  /** The letter after `g`. */
  readonly letter: string;
}

export const PAGES: readonly (readonly PageRow[])[] = [
  [
    { name: "overview", path: "/", icon: "overview", letter: "o" },
    { name: "board", path: "/board", icon: "board", letter: "b" },
    { name: "sessions", path: "/sessions", icon: "sessions", letter: "s" },
  ],
  [{ name: "sandboxes", path: "/sandboxes", icon: "sandbox", letter: "x" }],
];

export const labelOf = ({ name }: PageRow): string => words.shell.pages[name];
