import { type Engine, succeeded } from "../engine/engine.ts";
import type { Container } from "../lifecycle/container.ts";

const LIST_TIMEOUT_MS = 10_000;
const FOLDERS: readonly string[] = ["/root", "/workspace"];

/** Prints the arguments that are folders with an entry in them; uses only builtins of the shell. */
const LIST_FILLED = `for d; do
  for f in "$d"/* "$d"/.[!.]* "$d"/..?*; do
    if [ -e "$f" ] || [ -L "$f" ]; then printf '%s\\n' "$d"; break; fi
  done
done`;

/** The home and the workspace of a sandbox, if they are in memory: their files are lost when the sandbox stops. */
export function listMemoryFolders({ host }: Pick<Container, "host">): string[] {
  return FOLDERS.filter((folder) => host.Tmpfs?.[folder] !== undefined);
}

/** Lists the folders in memory that hold files; all of them when the sandbox does not answer, none when it is stopped. */
export async function listFilledMemoryFolders(
  engine: Engine,
  container: Container,
  signal: AbortSignal,
): Promise<string[]> {
  const folders = listMemoryFolders(container);
  const isStopped = container.state !== "running" && container.state !== "paused";
  if (folders.length === 0 || isStopped) return [];
  const args = ["exec", container.id, "sh", "-c", LIST_FILLED, "sh", ...folders];
  const listed = await engine.run(args, LIST_TIMEOUT_MS, signal);
  return succeeded(listed) ? listed.stdout.split("\n").filter((line) => line !== "") : folders;
}
