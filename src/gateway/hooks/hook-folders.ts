import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { errnoOf, messageOf } from "../../lib/errors.ts";
import { unlessMissing } from "../../lib/files/unless-missing.ts";

/** The events that hooks can name. */
export const HOOK_EVENTS = [
  "gateway:startup",
  "session:start",
  "session:reset",
  "agent:start",
  "agent:step",
  "agent:end",
  "command:*",
] as const;

/** A folder below `hooks/` of the home, with its events and a hash of its files. */
export interface HookFolder {
  readonly name: string;
  readonly folder: string;
  /** Changes with every file of the folder. */
  readonly hash: string;
  readonly manifest: HookManifest | { readonly problem: string };
}

export interface HookManifest {
  readonly description: string;
  readonly events: readonly string[];
  /** A command line for `sh`, run in the folder. */
  readonly command: string;
}

const manifestSchema = z.strictObject({
  name: z.string().optional(),
  description: z.string().default(""),
  events: z
    .array(
      z
        .string()
        .refine(
          (event) =>
            HOOK_EVENTS.some((known) => known === event) || /^(?:command:[\w-]+|\w+:\*)$/.test(event),
          {
            error: ({ input }) =>
              `${String(input)} is not an event; the events are ${HOOK_EVENTS.join(", ")}`,
          },
        ),
    )
    .min(1),
  command: z.string().min(1),
});

const MANIFEST = "hook.yaml";
const MAX_FILES = 200;

/** Lists all hooks of a home, including those that cannot be used. */
export async function listHookFolders(hooks: string): Promise<readonly HookFolder[]> {
  const entries = (await unlessMissing(readdir(hooks, { withFileTypes: true }))) ?? [];
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  return Promise.all(names.sort().map((name) => readHookFolder(name, join(hooks, name))));
}

async function readHookFolder(name: string, folder: string): Promise<HookFolder> {
  try {
    const manifest = manifestSchema.safeParse(parse(await readFile(join(folder, MANIFEST), "utf8")));
    const hash = await hashFolder(folder);
    if (manifest.success) return { name, folder, hash, manifest: manifest.data };
    const [issue] = manifest.error.issues;
    return {
      name,
      folder,
      hash,
      manifest: { problem: `${MANIFEST}: ${issue?.path.join(".")} ${issue?.message}` },
    };
  } catch (error) {
    const problem = errnoOf(error) === "ENOENT" ? `it has no ${MANIFEST}` : messageOf(error);
    return { name, folder, hash: "", manifest: { problem } };
  }
}

/** Refuses links and special files, because their content could change after the hook was trusted. */
async function hashFolder(folder: string): Promise<string> {
  const hash = createHash("sha256");
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  if (entries.length > MAX_FILES) throw new Error(`it has more than ${MAX_FILES} files`);
  for (const entry of entries.sort((one, other) => pathOf(one).localeCompare(pathOf(other)))) {
    if (entry.isDirectory()) continue;
    if (!entry.isFile()) throw new Error(`${entry.name} is not a regular file`);
    hash.update(`${pathOf(entry).slice(folder.length)}\0`);
    hash.update(await readFile(pathOf(entry)));
    hash.update("\0");
  }
  return hash.digest("hex");
}

function pathOf({ parentPath, name }: { readonly parentPath: string; readonly name: string }): string {
  return join(parentPath, name);
}
