import { readFileSync } from "node:fs";
import { loadavg } from "node:os";
import { messageOf } from "../../lib/errors.ts";

/** What is known at once about a request to end: who may have sent it, and how the machine was. */
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
