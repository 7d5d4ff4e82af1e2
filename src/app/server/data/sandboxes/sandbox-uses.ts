import { ApiError } from "../../../../api/api-error.ts";
import type { SandboxUse } from "../../../../api/contract/machines/sandboxes.ts";
import type { Engine } from "../../../../environments/docker/engine/engine.ts";
import { listFilledMemoryFolders } from "../../../../environments/docker/isolation/memory-folders.ts";
import { findPersistentUse } from "../../../../environments/docker/isolation/sandbox-processes.ts";
import type { Container } from "../../../../environments/docker/lifecycle/container.ts";
import { describeHolders } from "../../../../environments/docker/lifecycle/sandbox-holders.ts";
import type { FindJobCommands } from "../../../../environments/jobs/job-command.ts";

/** Lists everything that ends when a sandbox is stopped. */
export async function listUses(
  engine: Engine,
  container: Container,
  lookUpJobs: FindJobCommands,
  signal: AbortSignal,
): Promise<SandboxUse[]> {
  if (container.state !== "running") return [];
  const { holders, jobs, isHeld } = await findPersistentUse(engine, container.id, signal);
  const processes = (await describeHolders(holders, signal)).map(
    ({ pid, command }): SandboxUse => ({ kind: "process", id: pid === null ? "" : `${pid}`, command }),
  );
  if (isHeld && processes.length === 0) processes.push({ kind: "process", id: "", command: null });
  const commands = await lookUpJobs(jobs, signal);
  const folders = await listFilledMemoryFolders(engine, container, signal);
  return [
    ...processes,
    ...commands.map(({ id, command }): SandboxUse => ({ kind: "job", id, command })),
    ...folders.map((id): SandboxUse => ({ kind: "folder", id, command: null })),
  ];
}

/** Throws if something uses the sandbox that the person has not seen. */
export function requireAgreed(uses: readonly SandboxUse[], agreed: readonly string[]): void {
  const [unseen] = uses.filter(({ id }) => !agreed.includes(id));
  if (unseen === undefined) return;
  const what = { process: "process", job: "job", folder: "folder in memory" }[unseen.kind];
  const name = unseen.command ?? unseen.id;
  throw new ApiError(
    409,
    "sandbox_changed",
    `Nothing was ended, because the sandbox is now used by something else: ${what} ${name}.`,
    undefined,
    "Check what would end, and confirm again.",
  );
}
