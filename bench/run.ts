import { agentBench } from "./agent.ts";
import { type Bench, isWithin, type Measurement } from "./bench.ts";
import { boardBench } from "./board.ts";
import { chatBench } from "./chat.ts";
import { dashboardBench } from "./dashboard.ts";
import { dashboardBoardBench } from "./dashboard-board.ts";
import { dashboardLogsBench } from "./dashboard-logs.ts";
import { dashboardServerBench } from "./dashboard-server.ts";
import { dispatchBench } from "./dispatch.ts";
import { execBench } from "./exec.ts";
import { filesBench } from "./files.ts";
import { gatewayBench } from "./gateway.ts";
import { localSandboxBench } from "./local-sandbox.ts";
import { safetyBench } from "./safety.ts";
import { sessionsBench } from "./sessions.ts";
import { startBench } from "./start.ts";

/** `npm run bench [-- NAME…] [--json]`: prints a table and exits 1 when a budget is exceeded. */

const BENCHES: readonly Bench[] = [
  startBench,
  execBench,
  localSandboxBench,
  filesBench,
  sessionsBench,
  agentBench,
  safetyBench,
  boardBench,
  dispatchBench,
  chatBench,
  dashboardBench,
  gatewayBench,
  dashboardServerBench,
  dashboardBoardBench,
  dashboardLogsBench,
];

const words = process.argv.slice(2);
const wanted = words.filter((word) => !word.startsWith("--"));
const unknown = wanted.filter((name) => !BENCHES.some((bench) => bench.name === name));
if (unknown.length > 0) {
  process.stderr.write(
    `no bench named ${unknown.join(", ")}; there are: ${BENCHES.map((bench) => bench.name).join(", ")}\n`,
  );
  process.exit(2);
}

const results: (Measurement & { bench: string; ok: boolean })[] = [];
for (const bench of BENCHES) {
  if (wanted.length > 0 && !wanted.includes(bench.name)) continue;
  process.stderr.write(`${bench.name}…\n`);
  for (const measurement of await bench.run()) {
    results.push({ bench: bench.name, ...measurement, ok: isWithin(measurement) });
  }
}
if (words.includes("--json")) process.stdout.write(`${JSON.stringify(results, undefined, 2)}\n`);
else process.stdout.write(table());
process.exitCode = results.every((result) => result.ok) ? 0 : 1;

function table(): string {
  const rows = results.map(({ name, ours, peer, ratio, budget, ok }) => {
    const limit =
      "max" in budget ? `≤ ${Number(budget.max.toFixed(3))}` : `≥ ${Number(budget.min.toFixed(3))}`;
    return [name, ours, peer, ratio.toFixed(3), limit, ok ? "ok" : "OVER"];
  });
  const all = [["measured", "ours", "peer", "ratio", "budget", ""], ...rows];
  const widths = all[0]?.map((_, column) => Math.max(...all.map((row) => (row[column] ?? "").length))) ?? [];
  return `${all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n")}\n`;
}
