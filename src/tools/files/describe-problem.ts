import { posix } from "node:path";
import type { EnvironmentFiles } from "../../environments/files/environment-files.ts";
import type { FileProblem } from "../../environments/files/file-problem.ts";
import { findClosest } from "../../lib/text/did-you-mean.ts";

/** Describes the problem; for a missing file, suggests a similar name. */
export async function describeProblem(
  files: EnvironmentFiles,
  problem: FileProblem,
  signal: AbortSignal,
): Promise<string> {
  const text = `${problem.message} ${problem.hint}`;
  if (problem.kind !== "missing") return text;
  const folder = await files.list(posix.dirname(problem.path), {}, signal);
  if (folder.kind !== "listed") return text;
  const names = folder.entries.map(({ name }) => name);
  const wanted = posix.basename(problem.path);
  const near =
    names.find((name) => name.normalize() === wanted.normalize()) ??
    names.find((name) => name.toLowerCase() === wanted.toLowerCase()) ??
    findClosest(wanted, names) ??
    names.find((name) => stemOf(name) === stemOf(wanted));
  return near === undefined ? text : `${problem.message} Did you mean ${posix.join(folder.path, near)}?`;
}

/** Names with the same stem are similar: `config.yml` and `config.yaml`, `index.ts` and `index.js`. */
function stemOf(name: string): string {
  return name.slice(0, name.length - posix.extname(name).length).toLowerCase();
}
