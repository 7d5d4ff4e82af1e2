import { digestOf, safeSlug } from "./sandbox-names.ts";

/** The labels of our containers. The first three are those of the reference program, because users filter by them. */
export const LABEL = {
  agent: "hermes-agent",
  taskId: "hermes-task-id",
  profile: "hermes-profile",
  profileId: "hermes-profile-id",
  spec: "hermes-spec",
  specFields: "hermes-spec-json",
  implementation: "hermes-impl",
  /** The exact name of the task; `hermes-task-id` contains only safe characters. */
  task: "hermes-task",
  /** Random for each `create`, so that our process can find the container if the client does not return its id. */
  creation: "hermes-creation",
  /** The process that owns the container; empty in persist mode. */
  owner: "hermes-owner",
  /** On a container: the snapshot or fork that it was created from. */
  origin: "hermes-origin",
  /** On an image: the id of the snapshot or fork that created it. */
  snapshot: "hermes-snapshot",
  snapshotName: "hermes-snapshot-name",
  createdAt: "hermes-created-at",
  /** On an image: its base image. */
  base: "hermes-base",
} as const;

const IMPLEMENTATION = "ts";
const MAX_VALUE_LENGTH = 63;
const DIGEST_LENGTH = 8;

export type Labels = Readonly<Record<string, string>>;

/** Converts a value to safe characters; where that loses information, a digest keeps the value unique. */
export function sanitiseLabel(value: string, fallback = "unknown"): string {
  if (value === "") return fallback;
  const safe = safeSlug(value);
  if (safe === value && safe.length <= MAX_VALUE_LENGTH) return safe;
  return `${safe.slice(0, MAX_VALUE_LENGTH - DIGEST_LENGTH - 1)}-${digestOf(value).slice(0, DIGEST_LENGTH)}`;
}

/** The task's name as the value of a label, without control characters. */
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
    [LABEL.owner]: sandbox.owner ?? "", // always set, because the image may have inherited another value
    ...(sandbox.origin === undefined ? {} : { [LABEL.origin]: sandbox.origin }),
  };
}

/**
 * Whether Hermes created the container, for any profile. Other containers are listed, but never adopted or removed. A
 * container that the user created from one of our images has our labels, but an empty creation label.
 */
export function isOurs(labels: Labels): boolean {
  return (
    labels[LABEL.agent] === "1" &&
    labels[LABEL.implementation] === IMPLEMENTATION &&
    labels[LABEL.creation] !== "" &&
    (labels[LABEL.profileId] ?? "") !== ""
  );
}
