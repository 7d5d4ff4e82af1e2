import { z } from "zod";
import { AppError } from "../../../lib/errors.ts";
import { callFailed, type Engine, succeeded } from "../engine/engine.ts";
import { inspectOverSocket } from "../engine/engine-socket.ts";
import { parseJsonList } from "../engine/parse-json.ts";
import { requireEngine } from "../engine/require-engine.ts";
import type { Labels } from "../spec/labels.ts";

const INSPECT_TIMEOUT_MS = 10_000;
const SIZE_TIMEOUT_MS = 60_000;
const LIST_TIMEOUT_MS = 15_000;
const RENAME_TIMEOUT_MS = 10_000;

const strings = z.array(z.string()).nullish();

const inspected = z.object({
  Id: z.string(),
  Name: z.string(),
  Created: z.string(),
  SizeRw: z.number().optional(),
  State: z.object({
    Status: z.string(),
    ExitCode: z.number().optional(),
    Error: z.string().optional(),
    StartedAt: z.string().optional(),
    FinishedAt: z.string().optional(),
  }),
  Config: z.object({
    Image: z.string(),
    Labels: z.record(z.string(), z.string()).nullish(),
    Env: strings,
    User: z.string().optional(),
  }),
  HostConfig: z.object({
    NetworkMode: z.string().optional(),
    Privileged: z.boolean().optional(),
    CapAdd: strings,
    CapDrop: strings,
    SecurityOpt: strings,
    ReadonlyRootfs: z.boolean().optional(),
    Runtime: z.string().optional(),
    NanoCpus: z.number().optional(),
    Memory: z.number().optional(),
    PidsLimit: z.number().nullish(),
    Tmpfs: z.record(z.string(), z.string()).nullish(),
    PidMode: z.string().optional(),
    IpcMode: z.string().optional(),
    UTSMode: z.string().optional(),
    Devices: z.array(z.object({ PathInContainer: z.string() })).nullish(),
    DeviceRequests: z.array(z.object({ Driver: z.string().optional() })).nullish(),
    StorageOpt: z.record(z.string(), z.string()).nullish(),
  }),
  NetworkSettings: z.object({ Networks: z.record(z.string(), z.unknown()).nullish() }).optional(),
  Mounts: z
    .array(
      z.object({
        Type: z.string(),
        Name: z.string().optional(),
        Source: z.string().optional(),
        Destination: z.string(),
        RW: z.boolean(),
      }),
    )
    .nullish(),
});

/** A container as the engine's `inspect` describes it. */
export type Container = Readonly<NonNullable<ReturnType<typeof parseContainer>>>;

/** Parses a timestamp of the engine with up to nine fractional digits; undefined for the zero time and invalid text. */
export function parseTimestamp(text: string | undefined): number | undefined {
  const parts = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{1,3})?\d*(Z|[+-]\d\d:\d\d)$/.exec(text ?? "");
  if (parts === null) return undefined;
  const timestamp = Date.parse(`${parts[1]}${parts[2] ?? ""}${parts[3]}`);
  return Number.isNaN(timestamp) || timestamp <= 0 ? undefined : timestamp;
}

function parseContainer(description: unknown) {
  const { data } = inspected.safeParse(description, { jitless: true }); // compiling takes longer than one parse
  if (data === undefined) return undefined;
  return {
    id: data.Id,
    name: data.Name.replace(/^\//, ""),
    /** created, running, paused, restarting, exited, removing or dead; an engine may have other states. */
    state: data.State.Status.toLowerCase(),
    error: data.State.Error ?? "",
    image: data.Config.Image,
    labels: (data.Config.Labels ?? {}) as Labels,
    /** Milliseconds since 1970; undefined when the engine reports no time. */
    createdAt: parseTimestamp(data.Created),
    startedAt: parseTimestamp(data.State.StartedAt),
    finishedAt: parseTimestamp(data.State.FinishedAt),
    variables: (data.Config.Env ?? []) as readonly string[],
    user: data.Config.User ?? "",
    host: data.HostConfig,
    mounts: data.Mounts ?? [],
    /** The networks that the container is connected to now; the network mode remains that of its creation. */
    networks: Object.keys(data.NetworkSettings?.Networks ?? {}),
    sizeBytes: data.SizeRw,
  };
}

/** Inspects the containers with these ids or names; those that no longer exist are omitted. */
async function inspectContainers(
  engine: Engine,
  ids: readonly string[],
  { withSize = false }: { readonly withSize?: boolean },
  signal: AbortSignal,
): Promise<Container[]> {
  const quick = withSize ? undefined : await inspectOverSocket(engine.socket, "containers", ids, signal);
  return (
    quick?.flatMap((description) => parseContainer(description) ?? []) ??
    inspectByClient(engine, ids, { withSize }, signal)
  );
}

async function inspectByClient(
  engine: Engine,
  ids: readonly string[],
  { withSize = false }: { readonly withSize?: boolean },
  signal: AbortSignal,
): Promise<Container[]> {
  if (ids.length === 0) return [];
  const args = ["container", "inspect", ...(withSize ? ["--size"] : []), ...ids];
  const timeoutMs = withSize ? SIZE_TIMEOUT_MS : INSPECT_TIMEOUT_MS;
  const { stdout, timedOut } = await engine.run(args, timeoutMs, signal);
  if (timedOut) {
    await requireEngine(engine, signal); // throws a more precise error if the engine is down
    throw new AppError("sandbox-unavailable", "The container engine took too long to inspect a container.");
  }
  return parseJsonList(stdout).flatMap((description) => parseContainer(description) ?? []);
}

/** Finds the container of exactly that name or id; throws when the engine does not give a clear answer. */
export async function findContainer(
  engine: Engine,
  name: string,
  signal: AbortSignal,
): Promise<Container | undefined> {
  const isMatch = (container: Container) => container.name === name || container.id === name;
  const description = await engine.socket?.inspect("containers", name, signal);
  if (description === null) return undefined;
  const quick = parseContainer(description);
  if (quick !== undefined && isMatch(quick)) return quick;
  const find = async (key: string) => (await inspectByClient(engine, [key], {}, signal)).find(isMatch);
  const found = await find(name);
  if (found !== undefined) return found;
  // An empty answer may mean "no such container" or a failure; only a list distinguishes the two.
  const filter = /^[0-9a-f]{64}$/.test(name) ? `id=${name}` : `name=^/?${name.replaceAll(".", "\\.")}$`;
  const [id] = await listContainerIds(engine, [filter], signal);
  if (id === undefined) return undefined;
  const foundById = await find(id);
  if (foundById !== undefined) return foundById;
  const [stillListed] = await listContainerIds(engine, [filter], signal);
  if (stillListed === undefined) return undefined;
  throw new AppError("sandbox-unavailable", `The container engine lists ${name}, but cannot inspect it.`);
}

/** Lists all containers, in any state, that match every filter; throws when the engine does not answer. */
export async function listContainers(
  engine: Engine,
  filters: readonly string[],
  options: { readonly withSize?: boolean },
  signal: AbortSignal,
): Promise<Container[]> {
  const ids = await listContainerIds(engine, filters, signal);
  const containers = await inspectContainers(engine, ids, options, signal);
  // All containers may have been removed in between, but it is likelier that the engine stopped answering.
  if (containers.length === 0 && ids.length > 0) await requireEngine(engine, signal);
  return containers;
}

/** Like `listContainers`, but returns only the full ids. */
export async function listContainerIds(
  engine: Engine,
  filters: readonly string[],
  signal: AbortSignal,
): Promise<string[]> {
  const quick = await engine.socket?.listContainerIds(filters, signal);
  if (quick !== undefined) return quick;
  const result = await engine.run(
    ["ps", "-a", "--no-trunc", "--format", "{{.ID}}", ...filters.flatMap((filter) => ["--filter", filter])],
    LIST_TIMEOUT_MS,
    signal,
  );
  if (succeeded(result)) return result.stdout.split("\n").filter((line) => line !== "");
  await requireEngine(engine, signal); // throws a more precise error if the engine is down
  throw callFailed("The container engine cannot list containers", result);
}

export async function renameContainer(
  engine: Engine,
  id: string,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const renamed = await engine.run(["rename", id, name], RENAME_TIMEOUT_MS, signal);
  if (!succeeded(renamed)) throw callFailed(`The sandbox cannot be renamed to ${name}`, renamed);
}
