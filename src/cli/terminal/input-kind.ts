import { fstatSync } from "node:fs";

/** The kind of standard input; undefined for a terminal, /dev/null and a closed descriptor, which hold no input. */
export function readInputKind(descriptor = 0): "file" | "pipe" | "socket" | undefined {
  try {
    const stats = fstatSync(descriptor);
    return stats.isFile() ? "file" : stats.isFIFO() ? "pipe" : stats.isSocket() ? "socket" : undefined;
  } catch {
    return undefined; // closed
  }
}
