import { readdir } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { errnoOf } from "../../../lib/errors.ts";
import {
  type Completion,
  type CompletionItem,
  type CompletionSource,
  filterItems,
} from "./completion-list.ts";

export interface DraftCompletionParts {
  commands(): readonly CompletionItem[];
  /** What can follow a command; undefined if it takes nothing that is known. */
  argumentsOf(command: string): readonly CompletionItem[] | undefined;
  /** The folder that references start in. */
  readonly folder: string;
}

const MAX_ITEMS = 50;
const KINDS: readonly CompletionItem[] = [
  { value: "@file:", summary: "a file, or lines of it: @file:src/main.ts:1-20" },
  { value: "@folder:", summary: "the names in a folder" },
  { value: "@diff", summary: "changes that are not staged" },
  { value: "@staged", summary: "changes that are staged" },
  { value: "@git:", summary: "the last commits: @git:3" },
  { value: "@url:", summary: "a page of the web" },
];

/** Completes commands, their arguments and references to files. */
export function createDraftCompletion({
  commands,
  argumentsOf,
  folder,
}: DraftCompletionParts): CompletionSource {
  return (before, signal) => {
    const reference = findTypedReference(before);
    if (reference !== undefined) return completeReference(reference, folder, signal);
    const command = /^\/([\w-]*)$/.exec(before);
    if (command !== null) return { typed: before, items: filterItems(commands(), before) };
    const [, name = "", typed = ""] = /^\/([\w-]+)\s+(.*)$/.exec(before) ?? [];
    const items = name === "" ? undefined : argumentsOf(name.toLowerCase());
    return items && { typed, items: filterItems(items, typed) };
  };
}

/** The reference that is being typed, such as `@src/` or `@"my folder/`. */
export function findTypedReference(before: string): string | undefined {
  return /(?:^|\s)(@(?:file:|folder:)?"[^"]*|@\S*)$/.exec(before)?.[1];
}

async function completeReference(
  typed: string,
  folder: string,
  signal: AbortSignal,
): Promise<Completion | undefined> {
  const [, kind = "", quote = "", path = ""] = /^@(file:|folder:|)("?)(.*)$/.exec(typed) ?? [];
  const kinds = kind === "" && path !== "" ? filterKinds(typed) : kind === "" ? KINDS : [];
  const names = await listNames(path, folder, kind === "folder:");
  if (signal.aborted) return undefined;
  const found = filterItems(
    names.map((name) => ({ value: name, summary: "" })),
    path,
  );
  const files = found.map(({ value }) => ({ value: `@${kind}${quoteName(value, quote)}`, summary: "" }));
  const items = [...files, ...kinds].slice(0, MAX_ITEMS);
  return { typed, items };
}

/** A name with spaces is quoted. The quote of a folder stays open, because the name of a file follows. */
function quoteName(name: string, quote: string): string {
  if (quote === "" && !/\s/.test(name)) return name;
  return name.endsWith("/") ? `"${name}` : `"${name}"`;
}

function filterKinds(typed: string): CompletionItem[] {
  return KINDS.filter(({ value }) => value.startsWith(typed));
}

/** The siblings of the entry that is being typed; folders end in a slash, and hidden ones are listed after a typed dot. */
async function listNames(path: string, folder: string, foldersOnly: boolean): Promise<string[]> {
  const parent = path.slice(0, path.lastIndexOf("/") + 1);
  const start = path.slice(parent.length);
  try {
    const entries = await readdir(
      join(...(parent.startsWith("~/") ? [homedir(), parent.slice(2)] : [folder, parent])),
      {
        withFileTypes: true,
      },
    );
    return entries
      .filter((entry) => entry.isDirectory() || !foldersOnly)
      .filter(({ name }) => !/["\n]/.test(name) && (start.startsWith(".") || !name.startsWith(".")))
      .map((entry) => parent + entry.name + (entry.isDirectory() ? "/" : ""))
      .toSorted();
  } catch (error) {
    if (["ENOENT", "ENOTDIR", "EACCES"].includes(errnoOf(error) ?? "")) return [];
    throw error;
  }
}
