import { digestOf, safeSlug } from "./sandbox-names.ts";

/** The labels of our containers. The first three are the reference's; people filter by them. */
export const LABEL = {
  agent: "hermes-agent",
  taskId: "hermes-task-id",
  profile: "hermes-profile",
  profileId: "hermes-profile-id",
  spec: "hermes-spec",
  specFields: "hermes-spec-json",
  implementation: "hermes-impl",
  /** The task's name as it is, where `hermes-task-id` holds only safe letters. */
  task: "hermes-task",
  /** Random for each create call, so that its maker knows it again after losing sight of it. */
  creation: "hermes-creation",
  /** The process that the container was made for, where each has its own; else empty. */
  owner: "hermes-owner",
  /** On a container: the snapshot or fork whose files it began with. */
  origin: "hermes-origin",
  /** On an image: the id of the snapshot or fork that made it. */
  snapshot: "hermes-snapshot",
  snapshotName: "hermes-snapshot-name",
  createdAt: "hermes-created-at",
  /** On an image: the one that it adds to. */
  base: "hermes-base",
} as const;

const IMPLEMENTATION = "ts";
const LONGEST_VALUE = 63;
const DIGEST_LENGTH = 8;

export type Labels = Readonly<Record<string, string>>;

/** A label value of safe letters; where that loses something, a digest keeps two values apart. */
export function sanitiseLabel(value: string, fallback = "unknown"): string {
  if (value === "") return fallback;
  const safe = safeSlug(value);
  if (safe === value && safe.length <= LONGEST_VALUE) return safe;
  return `${safe.slice(0, LONGEST_VALUE - DIGEST_LENGTH - 1)}-${digestOf(value).slice(0, DIGEST_LENGTH)}`;
}

/** The task's name as a label holds it. */
export function taskLabel(task: string): string {
  return task.replace(/\p{Cc}/gu, " ");
}

export interface LabelledSandbox {
  readonly profile: string;
  readonly profileId: string;
  readonly task: string;
  readonly fingerprint: string;
  /** The comparable fields of the spec as JSON. */
  readonly fields: string;
  readonly origin?: string;
  readonly owner?: string;
}

export function sandboxLabels(sandbox: LabelledSandbox, creation: string): Labels {
  return {
    [LABEL.agent]: "1",
    [LABEL.taskId]: sanitiseLabel(sandbox.task),
    [LABEL.profile]: sanitiseLabel(sandbox.profile, "default"),
    [LABEL.profileId]: sandbox.profileId,
    [LABEL.task]: taskLabel(sandbox.task),
    [LABEL.spec]: sandbox.fingerprint,
    [LABEL.specFields]: sandbox.fields,
    [LABEL.implementation]: IMPLEMENTATION,
    [LABEL.creation]: creation,
    [LABEL.owner]: sandbox.owner ?? "", // always, because an image of another container may have one
    ...(sandbox.origin === undefined ? {} : { [LABEL.origin]: sandbox.origin }),
  };
}

/**
 * Whether we made the container, for whichever profile. Others are listed, but never adopted or removed; one that
 * somebody made by hand from an image of ours has its labels, but no creation.
 */
export function isOurs(labels: Labels): boolean {
  return (
    labels[LABEL.agent] === "1" &&
    labels[LABEL.implementation] === IMPLEMENTATION &&
    labels[LABEL.creation] !== "" &&
    (labels[LABEL.profileId] ?? "") !== ""
  );
}
