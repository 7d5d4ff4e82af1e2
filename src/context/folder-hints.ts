import { posix } from "node:path";
import type { EnvironmentFiles, FileFacts } from "../environments/files/environment-files.ts";
import { isFileProblem } from "../environments/files/file-problem.ts";
import { AppError } from "../lib/errors.ts";
import { escapeFrame } from "../lib/text/escape-frame.ts";
import { headOf } from "../lib/text/shorten.ts";
import type { FileGuards } from "../policy/guarded-files.ts";
import type { Tool } from "../tools/tool.ts";
import type { OpenedEnvironment } from "../tools/tool-parts.ts";
import { withCall } from "../tools/with-call.ts";

const NAME = "AGENTS.md";
/** Characters of all hints of one result. */
const MAX_HINT_CHARS = 32_000;
/** Where less room is left, the hint is added to a later, shorter result. */
const MIN_HINT_CHARS = 1_000;
const MAX_PATHS = 20;
const FRAME = /<project folder=("(?:[^"\\]|\\.)*")>/g;

export interface HintParts {
  openEnvironment(signal: AbortSignal): Promise<OpenedEnvironment>;
  /** The working folder: only folders below it have hints; its own instructions are in the prompt. */
  readonly folder: string;
  readonly guards: FileGuards;
  /** Folders whose instructions are in the transcript. */
  readonly shown: Iterable<string>;
  /** Characters of a result, hints included. */
  readonly maxResultChars: number;
  redact(text: string): string;
  notify(sentence: string): void;
  /** The notice that replaces a file that tries to steer the agent; undefined for other files. */
  screen(path: string, text: string): string | undefined;
}

/** The folders whose hints a text contains. */
export function findHints(text: string): string[] {
  return [...text.matchAll(FRAME)].flatMap(([, folder = ""]) => {
    try {
      return [String(JSON.parse(folder))];
    } catch {
      return []; // not written by us
    }
  });
}

/**
 * Appends a folder's AGENTS.md to the result of the first call that uses files in it, once per session. The prompt stays the
 * same for the whole session, so it cannot contain the instructions of folders that are used later.
 */
export function withFolderHints(
  tools: ReadonlyMap<string, Tool>,
  parts: HintParts,
): ReadonlyMap<string, Tool> {
  const seen = new Set(parts.shown);
  const resolved = new Set<string>();

  async function hintsFor(paths: readonly string[], maxChars: number, signal: AbortSignal): Promise<string> {
    const { files, session } = await parts.openEnvironment(signal);
    let hints = "";
    for (const path of paths.slice(0, MAX_PATHS)) {
      // Most calls use a folder that an earlier call has used. A name without a dot may be a folder itself.
      const place = `${session.cwd} ${posix.extname(path) === "" ? path : posix.dirname(path)}`;
      if (resolved.has(place) || maxChars - hints.length < MIN_HINT_CHARS) continue;
      resolved.add(place);
      const [root, found] = await Promise.all([files.stat(parts.folder, signal), files.stat(path, signal)]);
      if (isFileProblem(root) || isFileProblem(found)) continue;
      for (const folder of foldersBelow(root.path, found)) {
        if (seen.has(folder)) continue;
        seen.add(folder);
        const text = await readHint(folder, root.path, files, signal);
        if (text !== undefined) hints += frame(folder, headOf(text, maxChars - hints.length));
      }
    }
    return hints;
  }

  async function readHint(
    folder: string,
    root: string,
    files: EnvironmentFiles,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const path = posix.join(folder, NAME);
    const read = await files.read(path, { maxChars: MAX_HINT_CHARS }, signal);
    if (read.kind === "text" && read.lines.length > 0) {
      if (read.path.startsWith(`${root}/`) && parts.guards.read(read.path) === undefined)
        return parts.screen(path, read.lines.join("\n")) ?? read.lines.join("\n");
      parts.notify(`${path} is not used: it is a link to a file outside of the project, or to credentials.`);
    }
    if (read.kind === "binary") parts.notify(`${path} is not used: it is not text.`);
    if (isFileProblem(read) && read.kind !== "missing") parts.notify(`${path} is not used: ${read.message}`);
    return undefined;
  }

  const frame = (folder: string, text: string): string =>
    `\n\n[${NAME} of this folder describes how to work on files in it. It is reference data of the project.]\n<project folder=${JSON.stringify(folder)}>\n${escapeFrame(parts.redact(text), "project")}\n</project>`;

  return new Map(
    [...tools].map(([name, tool]): [string, Tool] => {
      const { effectsOf } = tool;
      if (effectsOf === undefined) return [name, tool];
      const call: Tool["call"] = async (input, context) => {
        const result = await tool.call(input, context);
        const { reads = [], writes = [] } = result.failed ? {} : effectsOf(input);
        const paths = [...new Set([...reads, ...writes])];
        if (paths.length === 0) return result;
        const room = Math.min(MAX_HINT_CHARS, parts.maxResultChars - result.text.length);
        try {
          return { ...result, text: result.text + (await hintsFor(paths, room, context.signal)) };
        } catch (error) {
          // The call itself has ended: a stop or a lost environment must not change its result.
          if (context.signal.aborted || error instanceof AppError) return result;
          throw error;
        }
      };
      return [name, withCall(tool, call)];
    }),
  );
}

/** The folders from the working folder down to a file or folder, without the working folder itself. */
function foldersBelow(root: string, { path, type }: FileFacts): readonly string[] {
  const below = posix.relative(root, type === "folder" ? path : posix.dirname(path));
  if (below === "" || below.startsWith("..")) return [];
  const names = below.split("/");
  return names.map((_, index) => posix.join(root, ...names.slice(0, index + 1)));
}
