import { createHash, randomBytes } from "node:crypto";

const MAX_SLUG_LENGTH = 32;
const ASIDE = /\.aside-([0-9a-z]+)-[0-9a-f]{8}$/;

/** Replaces every character except letters, digits, `_`, `.` and `-` with `_`. */
export function safeSlug(text: string): string {
  return text.replace(/[^A-Za-z0-9_.-]/gu, "_");
}

export function digestOf(...parts: readonly string[]): string {
  return createHash("sha256").update(parts.join("\0")).digest("hex");
}

/** Identifies a profile and task in names of containers and folders: readable, safe and unique. */
export function sandboxKey(profileId: string, task: string): string {
  const slug = safeSlug(task).slice(0, MAX_SLUG_LENGTH) || "unknown";
  return `${slug}-${digestOf(profileId, task).slice(0, 12)}`;
}

/** The container's name in persist mode: the same for all processes, so that the engine allows only one container. */
export function containerName(key: string): string {
  return `hermes-${key}`;
}

/** Adds a random suffix, so that no other process uses the name. */
export function uniqueName(name: string): string {
  return `${name}-${randomBytes(4).toString("hex")}`;
}

/** The name for a container or folder that is being replaced, with the time. */
export function replacedName(name: string, nowMs: number): string {
  return `${name}.aside-${Math.floor(nowMs / 1_000).toString(36)}-${randomBytes(4).toString("hex")}`;
}

/** Whether `name` was created by `replacedName` for `base`. */
export function isReplacedNameOf(name: string, base: string): boolean {
  return name.startsWith(`${base}.aside-`) && parseReplacedTime(name) !== undefined;
}

/** Whether `name` was created by `uniqueName` for `base`: a container of one process, or one that is incomplete. */
export function isUniqueNameOf(name: string, base: string): boolean {
  return name.startsWith(`${base}-`) && /^[0-9a-f]{8}$/.test(name.slice(base.length + 1));
}

/** Parses the time from a name that `replacedName` created; undefined for any other name. */
export function parseReplacedTime(name: string): number | undefined {
  const seconds = ASIDE.exec(name)?.[1];
  return seconds === undefined ? undefined : Number.parseInt(seconds, 36) * 1_000;
}
