import type { IconName } from "../components/controls/icon.tsx";
import { words } from "../words/words.ts";

/** A page of the navigation. */
export interface PageRow {
  readonly name: keyof typeof words.shell.pages;
  readonly path: "/" | "/board" | "/sessions" | "/platforms" | "/profiles" | "/settings" | "/models";
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
  [{ name: "platforms", path: "/platforms", icon: "platforms", letter: "f" }],
  [
    { name: "profiles", path: "/profiles", icon: "profiles", letter: "p" },
    { name: "settings", path: "/settings", icon: "settings", letter: "," },
    { name: "models", path: "/models", icon: "key", letter: "m" },
  ],
];

export const labelOf = ({ name }: PageRow): string => words.shell.pages[name];
