import { readFile } from "node:fs/promises";
import { EXIT_CODES, HINTS } from "../src/lib/errors.ts";
import { replaceTable } from "./generated-table.ts";

export const TROUBLESHOOTING_PAGE = "docs/guide/troubleshooting.md";

/** Returns the page with its table of all errors generated again; the rest of it is written by hand. */
export async function troubleshootingPage(): Promise<string> {
  const exitCodes: Readonly<Record<string, number>> = EXIT_CODES;
  const rows = Object.entries(HINTS).map(([code, hint]) => [
    `\`${code}\``,
    `${exitCodes[code] ?? 1}`,
    hint.replaceAll("|", "\\|"),
  ]);
  const page = await readFile(TROUBLESHOOTING_PAGE, "utf8");
  return replaceTable(page, "errors", ["code", "exit", "what to do"], rows);
}
