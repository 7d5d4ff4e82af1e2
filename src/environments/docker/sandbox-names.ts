import { createHash, randomBytes } from "node:crypto";

const LONGEST_SLUG = 32;
const ASIDE = /\.aside-([0-9a-z]+)-[0-9a-f]{8}$/;

/** Letters, digits, `_`, `.` and `-` as they are, `_` for every other character. */
export function safeSlug(text: string): string {
  return text.replace(/[^A-Za-z0-9_.-]/gu, "_");
}

export function digestOf(...parts: readonly string[]): string {
  return createHash("sha256").update(parts.join("\0")).digest("hex");
}

/** What stands for a (profile, task) pair in names of containers and folders: readable, safe, and never shared by two. */
export function sandboxKey(profileId: string, task: string): string {
  const slug = safeSlug(task).slice(0, LONGEST_SLUG) || "unknown";
  return `${slug}-${digestOf(profileId, task).slice(0, 12)}`;
}

/** The container's name: the same for all processes in persist mode, so that the engine itself admits only one. */
export function containerName(key: string): string {
  return `hermes-${key}`;
}

/** A name that nobody else asks for. */
export function uniqueName(name: string): string {
  return `${name}-${randomBytes(4).toString("hex")}`;
}

/** Where a container that is being replaced is moved out of the way, and when. */
export function asideName(name: string, nowMs: number): string {
  return `${name}.aside-${Math.floor(nowMs / 1_000).toString(36)}-${randomBytes(4).toString("hex")}`;
}

/** Whether that is what a container of the name is called while it has given way to another one. */
export function isAsideOf(name: string, base: string): boolean {
  return name.startsWith(`${base}.aside-`) && asideSince(name) !== undefined;
}

/** Whether that is a name by which one process alone knows a container: its own, or one that is only being made. */
export function isUniqueOf(name: string, base: string): boolean {
  return name.startsWith(`${base}-`) && /^[0-9a-f]{8}$/.test(name.slice(base.length + 1));
}

/** When a container of that name was moved aside, or undefined when it was not. */
export function asideSince(name: string): number | undefined {
  const seconds = ASIDE.exec(name)?.[1];
  return seconds === undefined ? undefined : Number.parseInt(seconds, 36) * 1_000;
}
