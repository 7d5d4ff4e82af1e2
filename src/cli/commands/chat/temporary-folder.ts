import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readProcessState } from "../../../lib/process/process-state.ts";

const NAME = "hermes-session-";
const OF_PROCESS = new RegExp(`^${NAME}(\\d+)-`);

/** Opens a folder for the session of one process. Removes the folders of killed processes, which hold conversations. */
export async function openTemporaryFolder(
  signal: AbortSignal,
): Promise<AsyncDisposable & { readonly path: string }> {
  for (const name of await readdir(tmpdir())) {
    const pid = Number(OF_PROCESS.exec(name)?.[1]);
    if (Number.isNaN(pid) || (await readProcessState(pid, signal)) !== "absent") continue;
    await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => undefined); // another user's
  }
  const path = await mkdtemp(join(tmpdir(), `${NAME}${process.pid}-`));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
