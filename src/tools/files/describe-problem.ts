import { posix } from "node:path";
import type { EnvironmentFiles } from "../../environments/files/environment-files.ts";
import type { FileProblem } from "../../environments/files/file-problem.ts";
import { closest } from "../../lib/did-you-mean.ts";

/** The problem in words, with the name that may have been meant. */
export async function describeProblem(
  files: EnvironmentFiles,
  problem: FileProblem,
  signal: AbortSignal,
): Promise<string> {
  const words = `${problem.message} ${problem.hint}`;
  if (problem.kind !== "missing") return words;
  const folder = await files.list(posix.dirname(problem.path), {}, signal);
  if (folder.kind !== "listed") return words;
  const names = folder.entries.map(({ name }) => name);
  const wanted = posix.basename(problem.path);
  const near =
    names.find((name) => name.normalize() === wanted.normalize()) ??
    names.find((name) => name.toLowerCase() === wanted.toLowerCase()) ??
    closest(wanted, names) ??
    names.find((name) => stemOf(name) === stemOf(wanted));
  return near === undefined ? words : `${problem.message} Did you mean ${posix.join(folder.path, near)}?`;
}

/** `config.yml` is meant by whoever asks for `config.yaml`, and `index.ts` for `index.js`. */
function stemOf(name: string): string {
  return name.slice(0, name.length - posix.extname(name).length).toLowerCase();
}
