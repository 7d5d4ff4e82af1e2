import { z } from "zod";
import { AppError } from "../../lib/errors.ts";
import type { Reporter } from "../environment-request.ts";
import { complaintOf, type Engine, succeeded } from "./engine.ts";
import { inspectImages } from "./inspect-images.ts";
import { requireEngine } from "./require-engine.ts";

const inspected = z.object({ Config: z.object({ Entrypoint: z.array(z.string()).nullish() }).nullish() });

export interface SandboxImage {
  /** Its own entrypoint is the s6 supervisor's. */
  readonly s6: boolean;
}

/** The image, fetched first when the engine does not have it. */
export async function ensureImage(
  engine: Engine,
  { image, pullTimeoutMs }: { readonly image: string; readonly pullTimeoutMs: number },
  reporter: Reporter,
  signal: AbortSignal,
): Promise<SandboxImage> {
  const found = await findImage(engine, image, signal);
  if (found !== undefined) return found;
  await requireEngine(engine, signal); // else "no such image" might mean "no engine"
  await pull(engine, image, pullTimeoutMs, reporter, signal);
  const pulled = await findImage(engine, image, signal);
  if (pulled !== undefined) return pulled;
  throw new AppError(
    "sandbox-image-missing",
    `The image ${image} was fetched, but the engine does not have it.`,
  );
}

async function findImage(
  engine: Engine,
  image: string,
  signal: AbortSignal,
): Promise<SandboxImage | undefined> {
  const [description] = await inspectImages(engine, [image], signal);
  const { data } = inspected.safeParse(description);
  if (data === undefined) return undefined;
  return { s6: data.Config?.Entrypoint?.[0] === "/init" };
}

async function pull(
  engine: Engine,
  image: string,
  timeoutMs: number,
  { onProgress }: Reporter,
  signal: AbortSignal,
): Promise<void> {
  onProgress(`Fetching the image ${image}…`);
  const decoder = new TextDecoder();
  const onStdout = (chunk: Uint8Array) => {
    const lines = decoder.decode(chunk, { stream: true }).split(/[\r\n]+/);
    for (const line of lines) if (line.trim() !== "") onProgress(line.trim());
  };
  const result = await engine.run(["pull", image], { timeoutMs, onStdout }, signal);
  if (succeeded(result)) return;
  if (result.timedOut) {
    throw new AppError(
      "sandbox-image-missing",
      `Fetching the image ${image} took longer than ${timeoutMs / 1_000} s.`,
      {
        hint: "Raise terminal.docker_pull_timeout_seconds, or fetch it yourself with `docker pull`.",
      },
    );
  }
  throw new AppError("sandbox-image-missing", `Cannot fetch the image ${image}: ${complaintOf(result)}`);
}
