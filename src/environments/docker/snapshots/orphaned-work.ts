import { readdir, readFile } from "node:fs/promises";
import { basename } from "node:path";
import type { Engine } from "../engine.ts";

/** Verbs of the engine's client that change what there is; looking at a sandbox does no harm. */
const CHANGING: ReadonlySet<string> = new Set(["create", "rename", "commit", "cp"]);

/**
 * The commands of this machine that still work on one of these words, an operation or a container, and that may have
 * outlived whoever started them. Systems without /proc tell of none.
 */
export async function listOrphanedWork({ binary }: Engine, words: readonly string[]): Promise<string[]> {
  const pids = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(
    pids.map(async (pid) => {
      // A process that ended since the folder was listed has no file any more.
      const argv = (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).split("\0");
      const [program = "", verb = ""] = argv;
      const isChange =
        basename(program) === "cp" || (basename(program) === basename(binary) && CHANGING.has(verb));
      return isChange && argv.some((word) => words.some((known) => word.includes(known)))
        ? argv.join(" ")
        : "";
    }),
  );
  return lines.filter((line) => line !== "");
}
