import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readLogLines } from "../src/api/dashboard/routes/logs/read-log-lines.ts";
import { createRedactor } from "../src/lib/redact/redactor.ts";
import { type Bench, medians } from "./bench.ts";

const MEGABYTE = 1_000_000;
const ROUNDS = 15;

/** What a page of the dashboard costs that opens a log of 100 MB, compared with one of 1 MB. */
export const dashboardLogsBench: Bench = {
  name: "dashboard-logs",
  async run() {
    const folder = mkdtempSync(join(tmpdir(), "hermes-bench-"));
    const { redact } = createRedactor({ secrets: [] });
    const open = (name: string) => {
      const query = { file: "agent", before: undefined, filter: {} } as const;
      return readLogLines(join(folder, name), query, (text) => redact(text));
    };
    try {
      for (const [name, size] of [["small", MEGABYTE] as const, ["large", 100 * MEGABYTE] as const]) {
        mkdirSync(join(folder, name));
        writeFileSync(join(folder, name, "agent.log"), linesOf(size));
      }
      const { ours, peer } = await medians(
        ROUNDS,
        () => open("large"),
        () => open("small"),
      );
      const sent = Buffer.byteLength(JSON.stringify(await open("large")));
      return [
        {
          name: "opening a log of 100 MB, compared with 1 MB",
          ours: `${ours.toFixed(1)} ms`,
          peer: `${peer.toFixed(1)} ms`,
          ratio: ours / peer,
          budget: { max: 2 },
        },
        {
          name: "bytes sent for it",
          ours: `${Math.round(sent / 1_000)} kB`,
          peer: "256 kB",
          ratio: sent / 256_000,
          budget: { max: 1 },
        },
      ];
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
};

function linesOf(size: number): string {
  const record = {
    level: "info",
    time: new Date().toISOString(),
    pid: 1,
    component: "agent",
    session: "s_1",
  };
  const line = `${JSON.stringify({ ...record, msg: "turn-end completed", tool: "terminal", ms: 1_204 })}\n`;
  return line.repeat(Math.ceil(size / line.length));
}
