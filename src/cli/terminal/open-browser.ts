import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CommandContext } from "../context.ts";

/** A browser that has not opened the page within this time will not open it at all. */
const OPENS_WITHIN_MS = 60_000;

/**
 * Opens a link in the browser of the desktop, if there is one. The link may sign the browser in, and every user of the machine
 * can read arguments, so the browser gets a page in a private folder that redirects to the link.
 */
export function openBrowser(
  { streams, variables }: Pick<CommandContext, "streams" | "variables">,
  folder: string,
  link: string,
): void {
  const program = findOpener(variables);
  if (program === undefined || streams.stdout.isTTY !== true) return;
  const page = join(folder, `.open-${randomBytes(8).toString("hex")}.html`);
  const remove = (): void => rmSync(page, { force: true });
  writeFileSync(page, `<!doctype html><meta http-equiv="refresh" content="0;url=${link}">\n`, {
    mode: 0o600,
    flag: "wx",
  });
  process.once("exit", remove);
  setTimeout(remove, OPENS_WITHIN_MS).unref();
  const child = spawn(program, [`file://${page}`], { detached: true, stdio: "ignore" });
  child.once("error", () => undefined); // the link was also printed
  child.unref();
}

function findOpener(variables: CommandContext["variables"]): string | undefined {
  if (variables["SSH_CONNECTION"]) return undefined;
  if (process.platform === "darwin") return "open";
  return variables["DISPLAY"] || variables["WAYLAND_DISPLAY"] ? "xdg-open" : undefined;
}
