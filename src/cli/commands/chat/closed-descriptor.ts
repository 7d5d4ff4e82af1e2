import { fstatSync, readFileSync, statSync } from "node:fs";

/**
 * Whether a descriptor was closed when the program started, as by `>&-`. Node then opens /dev/null for reading and writing, and
 * so do programs that start others without a terminal; such a descriptor counts as closed too. A redirect to /dev/null opens
 * it only for writing.
 */
export function isClosedAtStart(descriptor: number): boolean {
  try {
    if (fstatSync(descriptor).rdev !== statSync("/dev/null").rdev) return false;
    const [, flags = ""] =
      /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8")) ?? [];
    return (Number.parseInt(flags, 8) & 3) === 2;
  } catch {
    return false; // without /proc this is unknown
  }
}
