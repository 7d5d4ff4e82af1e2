import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import type { Bench, Measurement } from "./bench.ts";

const APP = fileURLToPath(new URL("../dist/dashboard", import.meta.url));
const KB = 1_000;

/** The compressed size of what a browser loads, compared with the budgets of the app. Fonts are excluded. */
export const dashboardBench: Bench = {
  name: "dashboard",
  async run() {
    const page = readFileSync(join(APP, "index.html"), "utf8");
    const named = [...page.matchAll(/(?:src|href)="\.\/([^"]+\.(?:js|css))"/g)].map(
      (match) => match[1] ?? "",
    );
    const first = ["index.html", ...named].reduce((sum, name) => sum + compressed(name), 0);
    const current = filesOf(named);
    const later = current.filter((name) => name.endsWith(".js") && !named.includes(name));
    const isTerminal = (name: string): boolean => name.includes("terminal-screen");
    return [
      within("first load of the Overview", first, 150),
      largestOf(
        later.filter((name) => !isTerminal(name)),
        "largest later chunk",
        40,
      ),
      largestOf(later.filter(isTerminal), "chunk of the terminal", 90),
      within("requests of the first load, with two fonts", (named.length + 3) * KB, 12, ""),
    ];
  },
};

function largestOf(names: readonly string[], label: string, budget: number) {
  const largest = names.toSorted((one, other) => compressed(other) - compressed(one))[0] ?? "";
  return within(
    `${label} (${largest.replace(/^assets\/|-[\w-]{8}\.js$/g, "")})`,
    compressed(largest),
    budget,
  );
}

/** The files of this build: those that the page names, and those that these name. The folder may also have older ones. */
function filesOf(named: readonly string[]): readonly string[] {
  const all = readdirSync(join(APP, "assets"));
  const found = new Set(named);
  for (const name of found) {
    if (!name.endsWith(".js")) continue;
    const code = readFileSync(join(APP, name), "utf8");
    for (const other of all) if (code.includes(other)) found.add(`assets/${other}`);
  }
  return [...found];
}

const compressed = (name: string): number => gzipSync(readFileSync(join(APP, name)), { level: 9 }).length;

function within(name: string, bytes: number, budgetKb: number, unit = " kB"): Measurement {
  const kb = bytes / KB;
  return {
    name,
    ours: `${unit === "" ? kb : kb.toFixed(1)}${unit}`,
    peer: `${budgetKb}${unit}`,
    ratio: kb / budgetKb,
    budget: { max: 1 },
  };
}
