import { z } from "zod";
import { systemClock } from "../../../lib/clock.ts";
import { AppError } from "../../../lib/errors.ts";
import { parseMoment } from "../container.ts";
import { complaintOf, type Engine, succeeded } from "../engine.ts";
import { inspectImages } from "../inspect-images.ts";
import { isOurs, LABEL, type Labels } from "../labels.ts";
import { requireEngine } from "../require-engine.ts";

const LIST_TIMEOUT_MS = 15_000;
const COMMIT_TIMEOUT_MS = 10 * 60 * 1_000;
const REMOVE_TIMEOUT_MS = 60_000;
/** Podman stumbles over containers that others remove at the same moment. */
const REMOVE_ATTEMPTS = 3;
const REMOVE_PAUSE_MS = 300;

/** A snapshot's image stays for people; a fork's only as long as its container. */
const KINDS = ["snapshot", "fork"] as const;
export type ImageKind = (typeof KINDS)[number];

/** The tag of an image of ours: by it we know the image again, and by nothing else is it removed. */
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

/** An image that a snapshot or fork made. */
export interface OwnImage {
  readonly kind: ImageKind;
  /** The id of the snapshot or fork. */
  readonly id: string;
  readonly tag: string;
  readonly createdAt: number | undefined;
  /** What it takes beyond the image that it was made from. */
  readonly uniqueBytes: number;
  readonly labels: Labels;
}

/** The images that we made for a profile, or for all; those that somebody built on ours have other tags. */
export async function listOwnImages(
  engine: Engine,
  profileId: string | undefined,
  signal: AbortSignal,
): Promise<OwnImage[]> {
  // One filter: given several, Podman lists images that pass any of them.
  const args = ["images", "-q", "--no-trunc", "--filter", `label=${LABEL.snapshot}`];
  const result = await engine.run(args, { timeoutMs: LIST_TIMEOUT_MS }, signal);
  if (!succeeded(result)) {
    await requireEngine(engine, signal); // says best what is wrong
    throw new AppError("sandbox-unavailable", `The engine does not list images: ${complaintOf(result)}`);
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
      // Podman puts a registry before a name that has none.
      if (!image.RepoTags?.some((other) => other === tag || other === `localhost/${tag}`)) return [];
      return [{ kind, id, tag, labels, uniqueBytes, createdAt: parseMoment(image.Created) }];
    });
  });
}

export interface Commit {
  readonly kind: ImageKind;
  readonly id: string;
  /** Empty when nobody gave it one. */
  readonly name: string;
  readonly createdAt: string;
}

/** Makes an image of a container's own file system. The caller sees to it that the container stands still. */
export async function commitContainer(
  engine: Engine,
  container: string,
  { kind, id, name, createdAt }: Commit,
  signal: AbortSignal,
): Promise<{ readonly tag: string; readonly uniqueBytes: number }> {
  const base = await baseOf(engine, container, signal);
  const tag = imageTag(kind, id);
  // Task, profile and the rest come with the container's own labels. Its creation must not: a container that somebody
  // makes from this image by hand would be taken for ours.
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
  const result = await engine.run([...args, container, tag], { timeoutMs: COMMIT_TIMEOUT_MS }, signal);
  if (!succeeded(result)) {
    throw new AppError("sandbox-unavailable", `Cannot make an image of the sandbox: ${complaintOf(result)}`);
  }
  const [made] = await inspect(engine, [tag], signal);
  return { tag, uniqueBytes: Math.max(0, (made?.Size ?? 0) - (base?.Size ?? 0)) };
}

async function baseOf(engine: Engine, container: string, signal: AbortSignal) {
  const args = ["container", "inspect", "--format", "{{.Image}}", container];
  const result = await engine.run(args, { timeoutMs: LIST_TIMEOUT_MS }, signal);
  const id = result.stdout.trim();
  return id === "" ? undefined : (await inspect(engine, [id], signal))[0];
}

export type ImageRemoval =
  | { readonly outcome: "removed" }
  | { readonly outcome: "failed"; readonly reason: string };

/** Removes an image of ours by its tag. The engine refuses while a container uses it; one that is gone counts as removed. */
export async function removeOwnImage(
  engine: Engine,
  tag: string,
  signal: AbortSignal,
): Promise<ImageRemoval> {
  for (let attempt = 1; ; attempt++) {
    const result = await engine.run(["rmi", tag], { timeoutMs: REMOVE_TIMEOUT_MS }, signal);
    if (succeeded(result) || !(await hasImage(engine, tag, signal))) return { outcome: "removed" };
    if (attempt === REMOVE_ATTEMPTS) return { outcome: "failed", reason: complaintOf(result) };
    await systemClock.sleep(REMOVE_PAUSE_MS, signal);
  }
}

/** Throws when the engine cannot tell. */
export async function hasImage(engine: Engine, tag: string, signal: AbortSignal): Promise<boolean> {
  if ((await inspect(engine, [tag], signal)).length > 0) return true;
  await requireEngine(engine, signal);
  return false;
}

async function inspect(
  engine: Engine,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<z.infer<typeof inspected>[]> {
  const found = await inspectImages(engine, ids, signal);
  return found.flatMap((description) => inspected.safeParse(description).data ?? []);
}

/** Only one of the two engines names the digest. */
function bareId(id: string): string {
  return id.replace(/^sha256:/, "");
}
