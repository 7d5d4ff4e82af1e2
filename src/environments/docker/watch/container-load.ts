import { basename } from "node:path";
import type { Engine } from "../engine/engine.ts";
import { type FollowedClient, followClient } from "./follow-client.ts";

/** What a running container uses at one time. */
export interface LoadSample {
  readonly id: string;
  /** In processors: 1.5 is one and a half. */
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly processes: number;
}

const FIELDS = ["{{.ID}}", "{{.CPUPerc}}", "{{.MemUsage}}", "{{.PIDs}}"].join("|");
const UNITS: Readonly<Record<string, number>> = {
  ...{ B: 1, kB: 1_000, KB: 1_000, MB: 1_000 ** 2, GB: 1_000 ** 3, TB: 1_000 ** 4 },
  ...{ KiB: 1_024, MiB: 1_024 ** 2, GiB: 1_024 ** 3, TiB: 1_024 ** 4 },
};

/** Measures running containers about once a second, until it is disposed. */
export function followLoad(
  engine: Engine,
  ids: readonly string[],
  onSample: (sample: LoadSample) => void,
): FollowedClient {
  // Podman measures every five seconds by default; Docker has no such option.
  const interval = basename(engine.binary).includes("podman") ? ["--interval", "1"] : [];
  return followClient(engine, ["stats", ...interval, "--format", FIELDS, ...ids], (line) => {
    const sample = parseLoad(line, ids);
    if (sample !== undefined) onSample(sample);
  });
}

/** Parses a line of `stats`; undefined for a container that has no values now. */
export function parseLoad(line: string, ids: readonly string[]): LoadSample | undefined {
  // Before each table the client moves the cursor to the start of the screen.
  const [, shortId = "", cpu, memory, unit = "", processes] =
    /([0-9a-f]{12,64})\|([\d.]+)%\|([\d.]+) ?([A-Za-z]+) \/ [^|]*\|(\d+)/.exec(line) ?? [];
  const id = ids.find((whole) => shortId !== "" && whole.startsWith(shortId));
  const factor = UNITS[unit];
  if (id === undefined || factor === undefined) return undefined;
  return {
    id,
    cpus: Number(cpu) / 100,
    memoryBytes: Math.round(Number(memory) * factor),
    processes: Number(processes),
  };
}
