import { rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { AppError, errnoOf } from "../../lib/errors.ts";
import { withFileLock } from "../../lib/file-lock.ts";
import { ensurePrivateFolder, readTextFile, writeFileAtomic } from "../../lib/files.ts";
import { complaintOf, type Engine, succeeded, type Variables } from "../docker/engine.ts";
import { digestOf, uniqueName } from "../docker/sandbox-names.ts";
import type { Reporter } from "../environment-request.ts";
import type { ImageSource, InstanceSpec } from "./instance-spec.ts";

const BUILD_TIMEOUT_MS = 600_000;
const LOCK_DEADLINE_MS = BUILD_TIMEOUT_MS + 30_000; // whoever waits outlasts the one who builds

/** What making an image may use besides the engine: the network, credentials of registries. */
export interface ImageBuilder {
  readonly engine: Engine;
  readonly variables: Variables;
}

/** The path of the image that a spec means, made from its address first where that has not been done before. */
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
  const make = async (): Promise<string> => {
    const path = await locateImage(image, cacheFolder); // somebody else may have made it, or another under its name
    if (await exists(path)) return path;
    await build(builder, { address: image.address, path, cacheFolder, scratchFolder }, reporter, signal);
    return path;
  };
  return withFileLock(lock, make, signal);
}

/** Where the image is, or will be once it is made. */
export async function locateImage(image: ImageSource, cacheFolder: string): Promise<string> {
  if (image.kind === "path") {
    if (await exists(image.path)) return image.path;
    throw new AppError("sandbox-image-missing", `There is no image ${image.path}.`, {
      hint: "Set terminal.singularity_image to a .sif file, an image folder or a docker:// address.",
    });
  }
  const { address } = image;
  const name = address.replace(/^[^:]*:\/\//, "").replaceAll(/[^A-Za-z0-9_.-]/g, "-");
  const path = join(cacheFolder, `${name}.sif`);
  const source = await readTextFile(sourceFile(path));
  // Different addresses can come to the same name. A file without a note was made by the reference, or by hand.
  if (source === undefined || source === address) return path;
  return join(cacheFolder, `${name}-${digestOf(address).slice(0, 8)}.sif`);
}

interface Build {
  readonly address: string;
  readonly path: string;
  readonly cacheFolder: string;
  readonly scratchFolder: string;
}

/** Whatever happens, even the end of our process, nothing half made ever has the final name. */
async function build(
  { engine, variables }: ImageBuilder,
  { address, path, cacheFolder, scratchFolder }: Build,
  { onProgress }: Reporter,
  signal: AbortSignal,
): Promise<void> {
  const partial = uniqueName(`${path}.partial`);
  const temporary = join(scratchFolder, "tmp");
  await ensurePrivateFolder(temporary);
  onProgress(`Making an image from ${address}; this can take some minutes, but only the first time.`);
  const call = {
    timeoutMs: BUILD_TIMEOUT_MS,
    // A node's /tmp is often too small for an image.
    variables: { ...variables, ...ownFolders("CACHEDIR", cacheFolder), ...ownFolders("TMPDIR", temporary) },
  };
  try {
    const result = await engine.run(["build", partial, address], call, signal);
    if (!succeeded(result)) {
      throw new AppError(
        "sandbox-image-missing",
        `Cannot make an image from ${address}: ${complaintOf(result)}`,
        {
          hint: `Check the address and the network, or make it yourself: \`${engine.binary} build IMAGE.sif ${address}\`, and name the file in terminal.singularity_image.`,
        },
      );
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

function ownFolders(name: string, value: string): Variables {
  return { [`APPTAINER_${name}`]: value, [`SINGULARITY_${name}`]: value };
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return false;
    throw error;
  }
}
