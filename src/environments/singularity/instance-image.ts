import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../../lib/errors.ts";
import { withFileLock } from "../../lib/files/file-lock.ts";
import { ensurePrivateFolder, readTextFile, writeFileAtomic } from "../../lib/files/files.ts";
import { exists } from "../../lib/files/unless-missing.ts";
import { type Engine, formatFailure, succeeded, type Variables } from "../docker/engine/engine.ts";
import { digestOf, uniqueName } from "../docker/spec/sandbox-names.ts";
import type { Reporter } from "../environment-request.ts";
import type { ImageSource, InstanceSpec } from "./instance-spec.ts";

const BUILD_TIMEOUT_MS = 600_000;
const LOCK_DEADLINE_MS = BUILD_TIMEOUT_MS + 30_000; // longer than another process needs to build

export interface ImageBuilder {
  readonly engine: Engine;
  /** Variables for the build, which needs the network and registry credentials. */
  readonly variables: Variables;
}

/** The path of a spec's image; builds the image from its address first if necessary. */
export async function ensureImage(
  builder: ImageBuilder,
  { image, cacheFolder, scratchFolder }: Pick<InstanceSpec, "image" | "cacheFolder" | "scratchFolder">,
  reporter: Reporter,
  signal: AbortSignal,
): Promise<string> {
  const known = await locateImage(image, cacheFolder);
  if (image.kind === "path" || (await exists(known))) return known;
  await ensurePrivateFolder(cacheFolder);
  const lock = { path: `${known}.lock`, deadlineMs: LOCK_DEADLINE_MS };
  const buildIfMissing = async (): Promise<string> => {
    const path = await locateImage(image, cacheFolder); // another process may have built it, or another image of that name
    if (await exists(path)) return path;
    await build(builder, { address: image.address, path, cacheFolder, scratchFolder }, reporter, signal);
    return path;
  };
  return withFileLock(lock, buildIfMissing, signal);
}

/** The path of the image, whether or not it has been built yet. */
export async function locateImage(image: ImageSource, cacheFolder: string): Promise<string> {
  if (image.kind === "path") {
    if (await exists(image.path)) return image.path;
    const hint = "Set terminal.singularity_image to a .sif file, an image folder or a docker:// address.";
    throw new AppError("sandbox-image-missing", `The image ${image.path} does not exist.`, { hint });
  }
  const { address } = image;
  const name = address.replace(/^[^:]*:\/\//, "").replaceAll(/[^A-Za-z0-9_.-]/g, "-");
  const path = join(cacheFolder, `${name}.sif`);
  const source = await readTextFile(sourceFile(path));
  // Different addresses can map to the same name. A file without a source note was not built by this program.
  if (source === undefined || source === address) return path;
  return join(cacheFolder, `${name}-${digestOf(address).slice(0, 8)}.sif`);
}

interface Build {
  readonly address: string;
  readonly path: string;
  readonly cacheFolder: string;
  readonly scratchFolder: string;
}

/** Builds under a temporary name, so that not even a crash leaves an incomplete image under the final name. */
async function build(
  { engine, variables }: ImageBuilder,
  { address, path, cacheFolder, scratchFolder }: Build,
  { onProgress }: Reporter,
  signal: AbortSignal,
): Promise<void> {
  const partial = uniqueName(`${path}.partial`);
  const temporary = join(scratchFolder, "tmp");
  await ensurePrivateFolder(temporary);
  onProgress(`Building an image from ${address}; this can take some minutes, but only the first time.`);
  const call = {
    timeoutMs: BUILD_TIMEOUT_MS,
    // The /tmp of a cluster node is often too small for an image.
    variables: {
      ...variables,
      ...folderVariables("CACHEDIR", cacheFolder),
      ...folderVariables("TMPDIR", temporary),
    },
  };
  try {
    const result = await engine.run(["build", partial, address], call, signal);
    if (!succeeded(result)) {
      const hint = `Check the address and the network, or build it yourself with \`${engine.binary} build IMAGE.sif ${address}\` and set terminal.singularity_image to that file.`;
      const problem = `Cannot build an image from ${address}: ${formatFailure(result)}`;
      throw new AppError("sandbox-image-missing", problem, { hint });
    }
    await writeFileAtomic(sourceFile(path), address);
    await rename(partial, path);
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  onProgress(`The image is ready: ${path}.`);
}

function sourceFile(path: string): string {
  return `${path}.source`;
}

function folderVariables(name: string, value: string): Variables {
  return { [`APPTAINER_${name}`]: value, [`SINGULARITY_${name}`]: value };
}
