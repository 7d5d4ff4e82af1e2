import { join } from "node:path";
import { runProcess } from "../../lib/process.ts";
import { type Engine, noticeOnce } from "../docker/engine.ts";
import type { Reporter } from "../environment-request.ts";
import type { InstanceSpec } from "./instance-spec.ts";

const MEASURE_MS = 5_000; // a folder that takes longer is not worth waiting for
const KIB_PER_GB = 1_000_000_000 / 1_024;

/** Tells when the kept files of all instances take more than the settings allow: no limit can be set on them. */
export async function warnOfFullScratch(
  engine: Engine,
  { scratchFolder, diskWarningGb, overlayFolder }: InstanceSpec,
  reporter: Reporter,
  signal: AbortSignal,
): Promise<void> {
  if (overlayFolder === undefined) return;
  const folders = ["hermes-overlays", "hermes-files"].map((name) => join(scratchFolder, name));
  const call = { env: engine.env, timeoutMs: MEASURE_MS };
  const { stdout } = await runProcess(["du", "-skx", ...folders], call, signal);
  const sizes = stdout.split("\n").map((line) => Number.parseInt(line, 10));
  const gigabytes = sizes.reduce((sum, size) => sum + (Number.isNaN(size) ? 0 : size), 0) / KIB_PER_GB;
  if (gigabytes <= diskWarningGb) return;
  noticeOnce(
    engine,
    `The files of instances below ${scratchFolder} take ${Math.round(gigabytes)} GB, more than terminal.disk_warning_gb (${diskWarningGb}).`,
    reporter,
  );
}
