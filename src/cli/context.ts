import type { App } from "../app.ts";
import type { GlobalFlags } from "./global-flags.ts";
import type { Terminal } from "./terminal.ts";

/** All that a command gets from outside. */
export interface CommandContext {
  readonly terminal: Terminal;
  readonly flags: GlobalFlags;
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
  readonly signal: AbortSignal;
  /** The profile and its settings, as every entry point sees them. */
  openApp(): Promise<App>;
}
