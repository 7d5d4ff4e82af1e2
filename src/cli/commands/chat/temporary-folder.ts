import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readProcessState } from "../../../lib/process/process-state.ts";

const NAME = "hermes-session-";
const OF_PROCESS = new RegExp(`^${NAME}(\\d+)-`);

/** Creates a folder for the session of this process. Removes those of killed processes, because they contain conversations. */
export async function openTemporaryFolder(
  signal: AbortSignal,
): Promise<AsyncDisposable & { readonly path: string }> {
  for (const name of await readdir(tmpdir())) {
    const pid = Number(OF_PROCESS.exec(name)?.[1]);
    if (Number.isNaN(pid) || (await readProcessState(pid, signal)) !== "absent") continue;
    await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => undefined); // it may belong to another user
  }
  const path = await mkdtemp(join(tmpdir(), `${NAME}${process.pid}-`));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
