import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readProcessState } from "../../../lib/process-state.ts";

const NAME = "hermes-session-";
const OF_PROCESS = new RegExp(`^${NAME}(\\d+)-`);

/** A folder for the session of one process. What killed processes left behind is removed, with all that was said there. */
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
