import { z } from "zod";
import { AppError } from "../../../lib/errors.ts";
import type { Reporter } from "../../environment-request.ts";
import { type Engine, formatFailure, succeeded } from "../engine/engine.ts";
import { inspectImages } from "../engine/inspect-images.ts";
import { requireEngine } from "../engine/require-engine.ts";

const inspected = z.object({ Config: z.object({ Entrypoint: z.array(z.string()).nullish() }).nullish() });

/** Finds the image, and pulls it if the engine does not have it. `s6`: its entrypoint is the s6 supervisor. */
export async function ensureImage(
  engine: Engine,
  { image, pullTimeoutMs }: { readonly image: string; readonly pullTimeoutMs: number },
  reporter: Reporter,
  signal: AbortSignal,
): Promise<{ readonly s6: boolean }> {
  const found = await findImage(engine, image, signal);
  if (found !== undefined) return found;
  await requireEngine(engine, signal); // otherwise "no such image" may mean "no engine"
  await pull(engine, image, pullTimeoutMs, reporter, signal);
  const pulled = await findImage(engine, image, signal);
  if (pulled !== undefined) return pulled;
  const problem = `The image ${image} was pulled, but the engine does not list it.`;
  throw new AppError("sandbox-image-missing", problem);
}

async function findImage(engine: Engine, image: string, signal: AbortSignal) {
  const [description] = await inspectImages(engine, [image], signal);
  const { data } = inspected.safeParse(description);
  return data && { s6: data.Config?.Entrypoint?.[0] === "/init" };
}

async function pull(
  engine: Engine,
  image: string,
  timeoutMs: number,
  { onProgress }: Reporter,
  signal: AbortSignal,
): Promise<void> {
  onProgress(`Pulling the image ${image}…`);
  const decoder = new TextDecoder();
  const onStdout = (chunk: Uint8Array) => {
    const lines = decoder.decode(chunk, { stream: true }).split(/[\r\n]+/);
    for (const line of lines) if (line.trim() !== "") onProgress(line.trim());
  };
  const result = await engine.run(["pull", image], { timeoutMs, onStdout }, signal);
  if (succeeded(result)) return;
  if (result.timedOut) {
    const problem = `Pulling the image ${image} took longer than ${timeoutMs / 1_000} s.`;
    const hint = `Raise terminal.docker_pull_timeout_seconds, or run \`docker pull ${image}\` yourself.`;
    throw new AppError("sandbox-image-missing", problem, { hint });
  }
  throw new AppError("sandbox-image-missing", `Cannot pull the image ${image}: ${formatFailure(result)}`);
}
