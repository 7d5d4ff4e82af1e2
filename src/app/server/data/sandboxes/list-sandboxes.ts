import { basename } from "node:path";
import type { SandboxList, SandboxRow } from "../../../../api/contract/machines/sandboxes.ts";
import { type Engine, engineAddress, succeeded } from "../../../../environments/docker/engine/engine.ts";
import type { SandboxRow as ListedSandbox } from "../../../../environments/docker/lifecycle/list-sandboxes.ts";
import { AppError } from "../../../../lib/errors.ts";
import { openDeadline } from "../../../../lib/time/deadline.ts";
import { listSandboxesOf } from "../../../environments/list-app-sandboxes.ts";
import type { LoadProfile } from "../load-profile.ts";
import { hasContainers, openProfileDocker } from "./profile-docker.ts";

/** How long the answer of an engine is reused. */
const REUSE_MS = 2_000;
const ENGINE_WITHIN_MS = 10_000;
const VERSION_WITHIN_MS = 5_000;

/** Lists the sandboxes of profiles. Requests at the same time share one answer of the engine. */
export function createSandboxLister(load: LoadProfile) {
  const answers = new Map<string, { readonly at: number; readonly list: Promise<SandboxList> }>();
  const versions = new Map<string, string>();

  const readVersion = async (engine: Engine, signal: AbortSignal): Promise<string> => {
    const address = engineAddress(engine);
    const known = versions.get(address);
    if (known !== undefined) return known;
    const name = basename(engine.binary);
    // Podman usually has no server.
    const format = name.includes("podman") ? "{{.Client.Version}}" : "{{.Server.Version}}";
    const result = await engine.run(["version", "--format", format], VERSION_WITHIN_MS, signal);
    const version = succeeded(result) ? `${name} ${result.stdout.trim().replace(/[+~].*$/, "")}` : name;
    if (succeeded(result)) versions.set(address, version);
    return version;
  };

  const read = async (profile: string): Promise<SandboxList> => {
    const app = await load(profile);
    const { backend } = app.resolved.config.terminal;
    const list = { profile, backend, machine: machineOf(app), engine: null, rows: [], problem: null };
    if (!hasContainers(app)) return list;
    using deadline = openDeadline(new AbortController().signal, ENGINE_WITHIN_MS);
    try {
      const docker = await openProfileDocker(app, { recover: false }, deadline.signal);
      const rows = await listSandboxesOf(docker, app, {}, deadline.signal);
      return {
        ...list,
        engine: await readVersion(docker.engine, deadline.signal),
        rows: rows.map((row) => toRow(row, backend)),
      };
    } catch (error) {
      if (deadline.signal.aborted)
        return {
          ...list,
          problem: {
            message: `The container engine did not answer within ${ENGINE_WITHIN_MS / 1_000} s.`,
            hint: null,
          },
        };
      if (!(error instanceof AppError)) throw error;
      return { ...list, problem: { message: error.message, hint: error.hint } };
    }
  };

  return {
    async list(profile: string, signal: AbortSignal): Promise<SandboxList> {
      signal.throwIfAborted();
      const known = answers.get(profile);
      if (known !== undefined && Date.now() - known.at < REUSE_MS) return await known.list;
      const list = read(profile);
      const answer = { at: Date.now(), list };
      answers.set(profile, answer);
      list.catch(() => {
        if (answers.get(profile) === answer) answers.delete(profile);
      });
      return await list;
    },
    /** Reads again at the next request. */
    forget: (profile: string): void => void answers.delete(profile),
  };
}

function machineOf({ resolved: { config } }: Awaited<ReturnType<LoadProfile>>): string | null {
  const { backend, ssh_user, ssh_host, ssh_port } = config.terminal;
  return backend === "ssh" ? `${ssh_user}@${ssh_host}:${ssh_port}` : null;
}

const timeOf = (text: string | null): number | null => (text === null ? null : Date.parse(text));

export function toRow(row: ListedSandbox, backend: string): SandboxRow {
  return {
    id: row.id,
    name: row.name,
    profile: row.profile || null,
    task: row.task || null,
    backend,
    image: row.image,
    state: row.state,
    isInUse: row.leased,
    jobs: row.jobs.length,
    usedAt: timeOf(row.last_used_at),
    keptUntil: timeOf(row.kept_until),
    isDrifted: row.drift.length > 0,
    limits: {
      cpus: row.limits.cpus,
      memoryBytes: row.limits.memory_bytes,
      processes: row.limits.pids,
    },
    isOurs: row.ours,
  };
}
