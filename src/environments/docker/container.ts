import { z } from "zod";
import { AppError } from "../../lib/errors.ts";
import { complaintOf, type Engine, succeeded } from "./engine.ts";
import { inspectQuickly } from "./engine-socket.ts";
import type { Labels } from "./labels.ts";
import { parseJsonList } from "./parse-json.ts";
import { requireEngine } from "./require-engine.ts";

const INSPECT_TIMEOUT_MS = 10_000;
const SIZE_TIMEOUT_MS = 60_000;
const LIST_TIMEOUT_MS = 15_000;

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

/** A container as the engine describes it. */
export interface Container {
  readonly id: string;
  readonly name: string;
  /** created, running, paused, restarting, exited, removing or dead; the engine may have more. */
  readonly state: string;
  readonly error: string;
  readonly image: string;
  readonly labels: Labels;
  /** Milliseconds since 1970, or undefined when the engine does not know or has no such moment. */
  readonly createdAt: number | undefined;
  readonly startedAt: number | undefined;
  readonly finishedAt: number | undefined;
  readonly variables: readonly string[];
  readonly user: string;
  readonly host: z.infer<typeof inspected>["HostConfig"];
  readonly mounts: NonNullable<z.infer<typeof inspected>["Mounts"]>;
  readonly sizeBytes: number | undefined;
}

/** A moment of the engine, whose fractions may have nine digits; undefined for its zero time and for anything else. */
export function parseMoment(text: string | undefined): number | undefined {
  const parts = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{1,3})?\d*(Z|[+-]\d\d:\d\d)$/.exec(text ?? "");
  if (parts === null) return undefined;
  const moment = Date.parse(`${parts[1]}${parts[2] ?? ""}${parts[3]}`);
  return Number.isNaN(moment) || moment <= 0 ? undefined : moment;
}

function parseContainer(description: unknown): Container | undefined {
  const { data } = inspected.safeParse(description, { jitless: true }); // compiling takes longer than one look
  if (data === undefined) return undefined;
  return {
    id: data.Id,
    name: data.Name.replace(/^\//, ""),
    state: data.State.Status.toLowerCase(),
    error: data.State.Error ?? "",
    image: data.Config.Image,
    labels: data.Config.Labels ?? {},
    createdAt: parseMoment(data.Created),
    startedAt: parseMoment(data.State.StartedAt),
    finishedAt: parseMoment(data.State.FinishedAt),
    variables: data.Config.Env ?? [],
    user: data.Config.User ?? "",
    host: data.HostConfig,
    mounts: data.Mounts ?? [],
    sizeBytes: data.SizeRw,
  };
}

/** The containers with these ids or names that the engine still has; those that have gone are left out. */
async function inspectContainers(
  engine: Engine,
  ids: readonly string[],
  { withSize = false }: { readonly withSize?: boolean },
  signal: AbortSignal,
): Promise<Container[]> {
  const quick = withSize ? undefined : await inspectQuickly(engine.socket, "containers", ids, signal);
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
  const { stdout, timedOut } = await engine.run(args, { timeoutMs }, signal);
  if (timedOut) {
    await requireEngine(engine, signal); // says best what is wrong
    throw new AppError("sandbox-unavailable", "The container engine took too long to describe a container.");
  }
  return parseJsonList(stdout).flatMap((description) => parseContainer(description) ?? []);
}

/** The container of exactly that name or id, or undefined when the engine has none; throws when it cannot tell. */
export async function findContainer(
  engine: Engine,
  name: string,
  signal: AbortSignal,
): Promise<Container | undefined> {
  const isMeant = (container: Container) => container.name === name || container.id === name;
  const description = await engine.socket?.inspect("containers", name, signal);
  if (description === null) return undefined;
  const quick = parseContainer(description);
  if (quick !== undefined && isMeant(quick)) return quick;
  const find = async (key: string) => (await inspectByClient(engine, [key], {}, signal)).find(isMeant);
  const found = await find(name);
  if (found !== undefined) return found;
  // Nothing came back. Only a list says whether that means "none" or "cannot tell".
  const filter = /^[0-9a-f]{64}$/.test(name) ? `id=${name}` : `name=^/?${name.replaceAll(".", "\\.")}$`;
  const [id] = await listContainerIds(engine, [filter], signal);
  if (id === undefined) return undefined;
  const again = await find(id);
  if (again !== undefined) return again;
  const [gone] = await listContainerIds(engine, [filter], signal);
  if (gone === undefined) return undefined;
  throw new AppError("sandbox-unavailable", `The container engine lists ${name}, but does not describe it.`);
}

/** All containers, in whatever state, that pass every filter; throws when the engine does not answer. */
export async function listContainers(
  engine: Engine,
  filters: readonly string[],
  options: { readonly withSize?: boolean },
  signal: AbortSignal,
): Promise<Container[]> {
  const ids = await listContainerIds(engine, filters, signal);
  const containers = await inspectContainers(engine, ids, options, signal);
  // All of them gone at once is possible; an engine that went away is likelier.
  if (containers.length === 0 && ids.length > 0) await requireEngine(engine, signal);
  return containers;
}

/** Full ids of all containers, in whatever state, that pass every filter; throws when the engine does not answer. */
export async function listContainerIds(
  engine: Engine,
  filters: readonly string[],
  signal: AbortSignal,
): Promise<string[]> {
  const quick = await engine.socket?.listContainerIds(filters, signal);
  if (quick !== undefined) return quick;
  const result = await engine.run(
    ["ps", "-a", "--no-trunc", "--format", "{{.ID}}", ...filters.flatMap((filter) => ["--filter", filter])],
    { timeoutMs: LIST_TIMEOUT_MS },
    signal,
  );
  if (succeeded(result)) return result.stdout.split("\n").filter((line) => line !== "");
  await requireEngine(engine, signal); // says best what is wrong
  throw new AppError(
    "sandbox-unavailable",
    `The container engine does not list containers: ${complaintOf(result)}`,
  );
}
