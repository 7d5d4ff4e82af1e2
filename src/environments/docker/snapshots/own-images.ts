import { z } from "zod";
import { systemClock } from "../../../lib/time/clock.ts";
import { callFailed, type Engine, formatFailure, succeeded } from "../engine/engine.ts";
import { inspectImages } from "../engine/inspect-images.ts";
import { requireEngine } from "../engine/require-engine.ts";
import { parseTimestamp } from "../lifecycle/container.ts";
import type { Removal } from "../lifecycle/remove-sandbox.ts";
import { isOurs, LABEL, type Labels } from "../spec/labels.ts";

const LIST_TIMEOUT_MS = 15_000;
const COMMIT_TIMEOUT_MS = 10 * 60 * 1_000;
const REMOVE_TIMEOUT_MS = 60_000;
/** Podman fails when another process removes a container at the same time. */
const REMOVE_ATTEMPTS = 3;
const REMOVE_PAUSE_MS = 300;

/** The image of a snapshot is kept for the user; the image of a fork only as long as its container. */
const KINDS = ["snapshot", "fork"] as const;
export type ImageKind = (typeof KINDS)[number];

/** The tag of an image that we created. Images are found and removed only by this tag. */
export function imageTag(kind: ImageKind, id: string): string {
  return `hermes-${kind}:${id}`;
}

const inspected = z.object({
  Id: z.string(),
  RepoTags: z.array(z.string()).nullish(),
  Created: z.string(),
  Size: z.number(),
  Config: z
    .object({
      Labels: z.record(z.string(), z.string()).nullish(),
      Entrypoint: z.array(z.string()).nullish(),
    })
    .nullish(),
});

/** An image that a snapshot or fork created. */
export interface OwnImage {
  readonly kind: ImageKind;
  readonly id: string;
  readonly tag: string;
  readonly createdAt: number | undefined;
  /** Size without the base image. */
  readonly uniqueBytes: number;
  readonly labels: Labels;
}

/** Lists the images that we created for one profile or for all. Images that the user built on ours have other tags. */
export async function listOwnImages(
  engine: Engine,
  profileId: string | undefined,
  signal: AbortSignal,
): Promise<OwnImage[]> {
  // Only one filter, because Podman lists images that match any of several filters.
  const args = ["images", "-q", "--no-trunc", "--filter", `label=${LABEL.snapshot}`];
  const result = await engine.run(args, LIST_TIMEOUT_MS, signal);
  if (!succeeded(result)) {
    await requireEngine(engine, signal); // throws a more precise error if the engine is down
    throw callFailed("The container engine cannot list images", result);
  }
  const ids = [...new Set(result.stdout.split("\n").filter((line) => line !== ""))];
  const images = await inspect(engine, ids, signal);
  const bases = [...new Set(images.flatMap((image) => image.Config?.Labels?.[LABEL.base] ?? []))];
  const sizes = new Map(
    (await inspect(engine, bases, signal)).map((image) => [bareId(image.Id), image.Size]),
  );
  return images.flatMap((image) => {
    const labels = image.Config?.Labels ?? {};
    const base = sizes.get(bareId(labels[LABEL.base] ?? "")) ?? 0;
    const uniqueBytes = Math.max(0, image.Size - base);
    const id = labels[LABEL.snapshot] ?? "";
    if (!isOurs({ ...labels, [LABEL.creation]: id })) return [];
    if (profileId !== undefined && labels[LABEL.profileId] !== profileId) return [];
    return KINDS.flatMap((kind): OwnImage[] => {
      const tag = imageTag(kind, id);
      // Podman adds a registry to a name without one.
      if (!image.RepoTags?.some((other) => other === tag || other === `localhost/${tag}`)) return [];
      return [{ kind, id, tag, labels, uniqueBytes, createdAt: parseTimestamp(image.Created) }];
    });
  });
}

export interface Commit {
  readonly kind: ImageKind;
  readonly id: string;
  /** Empty for a snapshot without a name. */
  readonly name: string;
  readonly createdAt: string;
}

/** Commits a container's own file system to an image. The caller must freeze the container. */
export async function commitContainer(
  engine: Engine,
  container: string,
  { kind, id, name, createdAt }: Commit,
  signal: AbortSignal,
): Promise<{ readonly tag: string; readonly uniqueBytes: number }> {
  const base = await findBaseImage(engine, container, signal);
  const tag = imageTag(kind, id);
  // The image inherits the container's labels, such as task and profile. The creation label is cleared, because a
  // container that the user creates from this image would otherwise look like ours.
  const labels = {
    [LABEL.snapshot]: id,
    [LABEL.snapshotName]: name,
    [LABEL.createdAt]: createdAt,
    [LABEL.base]: base?.Id ?? "",
    [LABEL.creation]: "",
  };
  const changes = [
    ...Object.entries(labels).map(([key, value]) => `LABEL ${key}="${value}"`),
    `ENTRYPOINT ${JSON.stringify(base?.Config?.Entrypoint ?? [])}`,
  ];
  const args = ["commit", "--pause=false", ...changes.flatMap((change) => ["--change", change])];
  const result = await engine.run([...args, container, tag], COMMIT_TIMEOUT_MS, signal);
  if (!succeeded(result)) throw callFailed("Cannot commit the sandbox to an image", result);
  const [image] = await inspect(engine, [tag], signal);
  return { tag, uniqueBytes: Math.max(0, (image?.Size ?? 0) - (base?.Size ?? 0)) };
}

async function findBaseImage(engine: Engine, container: string, signal: AbortSignal) {
  const args = ["container", "inspect", "--format", "{{.Image}}", container];
  const result = await engine.run(args, LIST_TIMEOUT_MS, signal);
  const id = result.stdout.trim();
  return id === "" ? undefined : (await inspect(engine, [id], signal))[0];
}

/** Removes our image by its tag. The engine refuses while a container uses it. A missing image counts as removed. */
export async function removeOwnImage(engine: Engine, tag: string, signal: AbortSignal): Promise<Removal> {
  for (let attempt = 1; ; attempt++) {
    const result = await engine.run(["rmi", tag], REMOVE_TIMEOUT_MS, signal);
    if (succeeded(result) || !(await hasImage(engine, tag, signal))) return { outcome: "removed" };
    if (attempt === REMOVE_ATTEMPTS) return { outcome: "failed", reason: formatFailure(result) };
    await systemClock.sleep(REMOVE_PAUSE_MS, signal);
  }
}

/** Throws when the engine does not answer. */
export async function hasImage(engine: Engine, tag: string, signal: AbortSignal): Promise<boolean> {
  if ((await inspect(engine, [tag], signal)).length > 0) return true;
  await requireEngine(engine, signal);
  return false;
}

async function inspect(engine: Engine, ids: readonly string[], signal: AbortSignal) {
  const found = await inspectImages(engine, ids, signal);
  return found.flatMap((description) => inspected.safeParse(description).data ?? []);
}

/** Docker writes the digest algorithm before an id, Podman does not. */
function bareId(id: string): string {
  return id.replace(/^sha256:/, "");
}
