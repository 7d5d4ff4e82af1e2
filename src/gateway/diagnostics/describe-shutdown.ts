import { readFileSync } from "node:fs";
import { loadavg } from "node:os";
import { messageOf } from "../../lib/errors.ts";

/** Facts for the log about a request to end: its reason, the parent process and the load of the machine. */
export function describeShutdown(reason: unknown) {
  return {
    why: messageOf(reason),
    parent: process.ppid,
    parentCommand: commandOf(process.ppid),
    load: Number(loadavg()[0]?.toFixed(2)),
    rssMb: Math.round(process.memoryUsage.rss() / 1024 / 1024),
    uptimeSeconds: Math.round(process.uptime()),
  };
}

/** Undefined where there is no /proc. */
function commandOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim().slice(0, 200);
  } catch {
    return undefined;
  }
}
