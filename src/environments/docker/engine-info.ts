import { z } from "zod";
import { AppError } from "../../lib/errors.ts";
import { complaintOf, type Engine, type EngineInfo, succeeded } from "./engine.ts";
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
});

/** What the engine says about itself, asked once per handle. */
export async function loadEngineInfo(engine: Engine, signal: AbortSignal): Promise<EngineInfo> {
  if (engine.memory.info !== undefined) return engine.memory.info;
  const result = await engine.run(["info", "--format", "{{json .}}"], { timeoutMs: INFO_TIMEOUT_MS }, signal);
  const said = info.safeParse(parseJson(result.stdout));
  if (!succeeded(result) || !said.success) {
    throw new AppError(
      "sandbox-unavailable",
      `The container engine does not describe itself: ${complaintOf(result)}`,
    );
  }
  const { data } = said;
  engine.memory.info = {
    storageDriver: data.Driver,
    backingFileSystem: data.DriverStatus?.find(([name]) => name === "Backing Filesystem")?.[1],
    cpus: data.NCPU,
    limits: { cpus: data.CpuCfsQuota, memory: data.MemoryLimit, pids: data.PidsLimit },
    runtimes: data.Runtimes ? Object.keys(data.Runtimes) : undefined,
  };
  return engine.memory.info;
}
