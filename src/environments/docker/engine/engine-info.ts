import { z } from "zod";
import { callFailed, type Engine, type EngineInfo, succeeded } from "./engine.ts";
import { parseJson } from "./parse-json.ts";

const INFO_TIMEOUT_MS = 10_000;

const info = z.object({
  Driver: z.string().optional(),
  DriverStatus: z.array(z.array(z.string())).nullish(),
  NCPU: z.number().optional(),
  MemoryLimit: z.boolean().optional(),
  CpuCfsQuota: z.boolean().optional(),
  PidsLimit: z.boolean().optional(),
  Runtimes: z.record(z.string(), z.unknown()).nullish(),
  SecurityOptions: z.array(z.string()).nullish(),
});

/** Podman's `info` has another format; only Podman has the field `host`. */
const podmanInfo = z.object({
  host: z.object({
    cpus: z.number().optional(),
    cgroupControllers: z.array(z.string()).nullish(),
    security: z.object({ rootless: z.boolean().optional() }).optional(),
  }),
  store: z
    .object({
      graphDriverName: z.string().optional(),
      graphStatus: z.record(z.string(), z.unknown()).nullish(),
    })
    .optional(),
});

/** Loads the engine's `info`, once per handle. */
export async function loadEngineInfo(engine: Engine, signal: AbortSignal): Promise<EngineInfo> {
  if (engine.cache.info !== undefined) return engine.cache.info;
  const result = await engine.run(["info", "--format", "{{json .}}"], INFO_TIMEOUT_MS, signal);
  const parsed = succeeded(result) ? parseEngineInfo(parseJson(result.stdout)) : undefined;
  if (parsed === undefined) throw callFailed("Cannot read the info of the container engine", result);
  engine.cache.info = parsed;
  return parsed;
}

/** Converts the `info` of Docker or Podman to one format; undefined for any other value. */
export function parseEngineInfo(description: unknown): EngineInfo | undefined {
  const podman = podmanInfo.safeParse(description);
  if (podman.success) return fromPodman(podman.data);
  const { data } = info.safeParse(description);
  return data === undefined ? undefined : fromDocker(data);
}

function fromPodman({ host, store }: z.infer<typeof podmanInfo>): EngineInfo {
  const backing = store?.graphStatus?.["Backing Filesystem"];
  const controllers = host.cgroupControllers ?? undefined;
  return {
    storageDriver: store?.graphDriverName,
    backingFileSystem: typeof backing === "string" ? backing : undefined,
    cpus: host.cpus,
    limits: {
      cpus: controllers?.includes("cpu"),
      memory: controllers?.includes("memory"),
      pids: controllers?.includes("pids"),
    },
    runtimes: undefined,
    rootless: host.security?.rootless ?? false,
  };
}

function fromDocker(data: z.infer<typeof info>): EngineInfo {
  return {
    storageDriver: data.Driver,
    backingFileSystem: data.DriverStatus?.find(([name]) => name === "Backing Filesystem")?.[1],
    cpus: data.NCPU,
    limits: { cpus: data.CpuCfsQuota, memory: data.MemoryLimit, pids: data.PidsLimit },
    runtimes: data.Runtimes ? Object.keys(data.Runtimes) : undefined,
    rootless: data.SecurityOptions?.includes("name=rootless") ?? false,
  };
}
