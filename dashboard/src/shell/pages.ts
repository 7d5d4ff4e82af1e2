import type { IconName } from "../components/controls/icon.tsx";
import { words } from "../words/words.ts";

/** A page of the navigation. */
export interface PageRow {
  readonly name: keyof typeof words.shell.pages;
  readonly path: "/" | "/board" | "/chat" | "/sessions" | "/sandboxes" | "/settings" | "/logs" | "/health";
  readonly icon: IconName;
  /** The letter after `g`. */
  readonly letter: string;
}

export const PAGES: readonly (readonly PageRow[])[] = [
  [
    { name: "overview", path: "/", icon: "overview", letter: "o" },
    { name: "board", path: "/board", icon: "board", letter: "b" },
    { name: "chat", path: "/chat", icon: "chat", letter: "c" },
    { name: "sessions", path: "/sessions", icon: "sessions", letter: "s" },
  ],
  [{ name: "sandboxes", path: "/sandboxes", icon: "sandbox", letter: "x" }],
  [{ name: "settings", path: "/settings", icon: "settings", letter: "," }],
  [
    { name: "logs", path: "/logs", icon: "logs", letter: "l" },
    { name: "health", path: "/health", icon: "health", letter: "h" },
  ],
];

export const labelOf = ({ name }: PageRow): string => words.shell.pages[name];
