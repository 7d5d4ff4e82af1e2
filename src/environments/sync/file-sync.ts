import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { errnoOf, messageOf } from "../../lib/errors.ts";
import { shorten } from "../../lib/text/shorten.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { quoteWord } from "../channel/quote.ts";
import type { Environment, TargetPath } from "../environment.ts";
import { createArchive } from "./archive.ts";
import { createHostFileReader, type HostFile, type HostFilesFound } from "./host-files.ts";
import { compareManifests, formatManifest, type Manifest, parseManifest } from "./manifest.ts";
import type { OfferedFiles } from "./offered-file.ts";
import { APPLY_SCRIPT, CHECK_SCRIPT } from "./sync-scripts.ts";

const INTERVAL_MS = 5_000;
const CHECK_TIMEOUT_MS = 30_000;
const APPLY_TIMEOUT_MS = 120_000;
/** The slowest accepted transfer rate: the timeout grows with the size of the transfer. */
const MIN_BYTES_PER_MS = 500;
const MAX_ATTEMPTS = 3;
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

export type FileSync = ReturnType<typeof createFileSync>;

export interface FileSyncParts {
  readonly environment: Pick<Environment, "openSession" | "run">;
  /** The owner of the files, as a plain word. Files of other owners below the base are never removed. */
  readonly owner: string;
  readonly base?: TargetPath;
  /** All files of this owner; files that are no longer listed are removed from the environment. */
  list(signal: AbortSignal): Promise<OfferedFiles>;
  onWarning(text: string): void;
  readonly clock: Clock;
  /** The shortest time between two checks. */
  readonly everyMs?: number;
}

/** A failed attempt: reported as a warning, and the command still runs. */
class SyncFailure extends Error {}

/** Keeps copies of files of this machine up to date in an environment. */
export function createFileSync(parts: FileSyncParts) {
  const { environment, owner, base = "~/.hermes", list, onWarning, clock, everyMs = INTERVAL_MS } = parts;
  if (!/^[\w-]+$/.test(owner)) throw new TypeError("the owner of synced files must be a plain word");
  const readOffer = createHostFileReader();
  let current: Promise<void> | undefined;
  let triedAt: number | undefined;
  let isTargetEmpty = false;
  let lastWarning = "";

  async function syncNow(signal: AbortSignal): Promise<void> {
    const warnings: string[] = [];
    try {
      const { files, problems } = await readHostFiles(signal);
      warnings.push(...problems);
      if (files.size > 0 || !isTargetEmpty) {
        isTargetEmpty = false;
        await updateTarget(files, signal);
        isTargetEmpty = files.size === 0;
      }
    } catch (error) {
      if (!(error instanceof SyncFailure)) throw error;
      warnings.push(`Files could not be copied to the host; its files are unchanged: ${error.message}.`);
    }
    const text = warnings.join(" ");
    if (text !== lastWarning && text !== "") onWarning(text); // do not repeat the same warning
    lastWarning = text;
  }

  async function readHostFiles(signal: AbortSignal): Promise<HostFilesFound> {
    try {
      return await readOffer(await list(signal), signal);
    } catch (error) {
      signal.throwIfAborted();
      if (errnoOf(error) === undefined) throw error;
      throw new SyncFailure(messageOf(error));
    }
  }

  async function updateTarget(files: ReadonlyMap<string, HostFile>, signal: AbortSignal): Promise<void> {
    const wanted = formatManifest(files);
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const answer = await runScript(CHECK_SCRIPT, [wanted.head], undefined, CHECK_TIMEOUT_MS, signal);
      if (answer.word === "same") return;
      const present =
        answer.word === "differs" ? parseManifest(answer.rest) : { head: "", manifest: new Map() };
      if (answer.word === "none" && files.size === 0) return;
      if ((await apply(files, wanted, present, signal)) === "done") return;
    }
    throw new SyncFailure("other processes keep changing the same files");
  }

  async function apply(
    files: ReadonlyMap<string, HostFile>,
    wanted: ReturnType<typeof formatManifest>,
    present: { readonly head: string; readonly manifest: Manifest },
    signal: AbortSignal,
  ): Promise<string> {
    const { puts, drops } = compareManifests(files, present.manifest);
    const sent = puts.flatMap((path) => files.get(path) ?? []);
    const steps = [
      ...puts.map((path) => ({ verb: present.manifest.has(path) ? "put" : "add", path })),
      ...drops.map((path) => ({ verb: "drop", path })),
    ];
    const plan = steps.map(({ verb, path }, index) => `${verb} ${index + 1} ${path}\n`).join("");
    const texts = { plan, manifest: wanted.text };
    let problem: string | undefined;
    async function* archive(): AsyncGenerator<Uint8Array, void, undefined> {
      try {
        yield* createArchive(sent, texts);
      } catch (error) {
        problem = messageOf(error);
        throw error;
      }
    }
    const bytes = sent.reduce((total, { size }) => total + size, 0);
    const timeoutMs = APPLY_TIMEOUT_MS + bytes / MIN_BYTES_PER_MS;
    const args = [present.head, randomBytes(8).toString("hex")];
    try {
      const { word, rest } = await runScript(APPLY_SCRIPT, args, archive(), timeoutMs, signal);
      const kept = rest.split("\n").filter((line) => line !== "");
      if (kept.length > 0)
        onWarning(`Existing files on the host were replaced and are kept as ${kept.join(", ")}.`);
      return word;
    } catch (error) {
      throw problem === undefined ? error : new SyncFailure(problem);
    }
  }

  /** Returns the first word of the script's output and the rest of it. */
  async function runScript(
    script: string,
    args: readonly string[],
    stdin: AsyncIterable<Uint8Array> | undefined,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<{ readonly word: string; readonly rest: string }> {
    const output = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
    let bytes = 0;
    const commandLine = ["sh", "-c", script, "hermes-sync", base, owner, ...args].map(quoteWord).join(" ");
    const result = await environment.run(
      {
        command: `command exec ${commandLine}`,
        session: environment.openSession(),
        workdir: "/",
        timeoutMs,
        stdin,
        onOutput(stream, chunk) {
          bytes += chunk.length;
          if (bytes <= MAX_ANSWER_BYTES) output[stream].push(Buffer.from(chunk));
        },
      },
      signal,
    );
    if (result.ended === "stopped") signal.throwIfAborted();
    if (result.ended !== "exited") throw new SyncFailure(`the transfer ended early (${result.ended})`);
    if (bytes > MAX_ANSWER_BYTES) throw new SyncFailure("the host's list of files is too long");
    const text = Buffer.concat(output.stdout).toString("utf8");
    const [, word = "failed", rest = text] = text.match(/^(\w+)\s([\s\S]*)$/) ?? [];
    if (word === "failed") {
      throw new SyncFailure(oneLine(`${rest} ${Buffer.concat(output.stderr).toString("utf8")}`));
    }
    return { word, rest };
  }

  return {
    /**
     * Updates the files in the environment, at most once per interval. A file that cannot be copied causes a warning and
     * does not fail the command. Rejects if the environment cannot be reached or `signal` aborts.
     */
    async beforeCommand(signal: AbortSignal): Promise<void> {
      for (;;) {
        signal.throwIfAborted();
        if (current === undefined) break;
        // The caller that started the sync gets its error; this caller then checks again.
        await Promise.race([current.catch(() => undefined), once(signal, "abort")]);
      }
      if (triedAt !== undefined && clock.now() - triedAt < everyMs) return;
      current = syncNow(signal).then(() => {
        triedAt = clock.now();
      });
      try {
        await current;
      } finally {
        current = undefined;
      }
    },
  };
}

function oneLine(text: string): string {
  const line = text.replace(/\p{C}+/gu, " ").trim();
  return shorten(line.replace(/\.$/, ""), 500);
}
