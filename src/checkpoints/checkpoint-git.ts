import { join } from "node:path";
import { AppError } from "../lib/errors.ts";
import { createFolder, ensurePrivateFolder, writeFileAtomic } from "../lib/files/files.ts";
import { exists } from "../lib/files/unless-missing.ts";
import { runProcess } from "../lib/process/process.ts";

/** Runs git on the store of checkpoints, with a project's folder as its work tree. */
export interface CheckpointGit {
  /** Resolves with the output; fails with `checkpoint-failed` and git's reason. */
  run(args: readonly string[], input?: string): Promise<string>;
  /** The bytes of a stored file. */
  readBlob(id: string): Promise<Buffer>;
}

/** The folder of a profile's store, and the environment variables of git. */
export interface StoreLocation {
  readonly folder: string;
  readonly variables: Readonly<Record<string, string | undefined>>;
}

const TIMEOUT_MS = 10 * 60_000;
const MAX_LIST_BYTES = 64 * 1024 * 1024;

/** Overrides .gitattributes: line endings, filters and encodings would change the bytes of a file. */
const ATTRIBUTES = "* -text -filter -ident -working-tree-encoding\n";
const SETTINGS = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "core.autocrlf=false",
  "core.fsyncMethod=batch", // one flush for a project's files instead of one per file
  "core.compression=1",
  "gc.auto=0",
].flatMap((setting) => ["-c", setting]);
const IDENTITY = {
  GIT_AUTHOR_NAME: "hermes",
  GIT_AUTHOR_EMAIL: "hermes@localhost",
  GIT_COMMITTER_NAME: "hermes",
  GIT_COMMITTER_EMAIL: "hermes@localhost",
};

/** Creates the store on first use: a bare repository outside the project, so that the project's own is never touched. */
export async function openStore({ folder, variables }: StoreLocation, signal: AbortSignal): Promise<void> {
  const store = join(folder, "store");
  if (await exists(join(store, "info", "attributes"))) return;
  await ensurePrivateFolder(folder);
  await createFolder(store);
  const env = { PATH: variables["PATH"], LC_ALL: "C" };
  const made = await runProcess(["git", "init", "--quiet", "--bare", "--template=", store], { env }, signal);
  if (made.exitCode !== 0)
    throw new AppError(
      "checkpoint-failed",
      `The store of checkpoints could not be created: ${made.stderr.trim()}`,
    );
  await createFolder(join(store, "info"));
  await writeFileAtomic(join(store, "info", "attributes"), ATTRIBUTES, { mode: 0o600 }); // last: marks the store as complete
}

export function createCheckpointGit(
  { folder, variables }: StoreLocation,
  { workTree, index }: { readonly workTree: string; readonly index: string },
  signal: AbortSignal,
): CheckpointGit {
  const kept = Object.fromEntries(Object.entries(variables).filter(([name]) => !name.startsWith("GIT_")));
  const env = {
    ...kept,
    ...IDENTITY,
    LC_ALL: "C",
    GIT_DIR: join(folder, "store"),
    GIT_WORK_TREE: workTree,
    GIT_INDEX_FILE: join(folder, index),
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_TERMINAL_PROMPT: "0",
  };
  const call = async (args: readonly string[], stdin: string, onStdout?: (chunk: Uint8Array) => void) => {
    const options = {
      cwd: workTree,
      env,
      stdin,
      timeoutMs: TIMEOUT_MS,
      maxOutputBytes: MAX_LIST_BYTES,
      ...(onStdout && { onStdout }),
    };
    const result = await runProcess(["git", ...SETTINGS, ...args], options, signal);
    if (result.exitCode === 0) return result.stdout;
    const reason = result.timedOut ? "it timed out" : result.stderr.trim().split("\n").at(-1);
    throw new AppError("checkpoint-failed", `git ${args[0]} failed in ${workTree}: ${reason}.`);
  };
  return {
    run: (args, input = "") => call(args, input),
    async readBlob(id) {
      const chunks: Uint8Array[] = [];
      await call(["cat-file", "blob", id], "", (chunk) => chunks.push(chunk));
      return Buffer.concat(chunks);
    },
  };
}
