import { randomBytes } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import { errnoOf, messageOf } from "../../lib/errors.ts";
import { shorten } from "../../lib/shorten.ts";
import { quoteWord } from "../channel/quote.ts";
import type { Environment, TargetPath } from "../environment.ts";
import { createArchive } from "./archive.ts";
import { createHostFiles, type HostFile, type HostFilesFound } from "./host-files.ts";
import { compareManifests, formatManifest, type Manifest, parseManifest } from "./manifest.ts";
import type { Offer } from "./offered-file.ts";
import { APPLY_SCRIPT, CHECK_SCRIPT } from "./sync-scripts.ts";

const EVERY_MS = 5_000;
const CHECK_WITHIN_MS = 30_000;
const APPLY_WITHIN_MS = 120_000;
/** Slower than this a transfer is given up, so that a large one gets the time that it needs. */
const SLOWEST_BYTES_PER_MS = 500;
const ATTEMPTS = 3;
const LARGEST_ANSWER = 16 * 1024 * 1024;

/** Keeps files of this machine up to date in an environment. */
export interface FileSync {
  /**
   * Brings the far side up to date, unless that was tried a moment ago. A file that cannot be brought over is told of and
   * costs nobody a command; rejects when the environment cannot be reached or `signal` aborts.
   */
  beforeCommand(signal: AbortSignal): Promise<void>;
}

export interface FileSyncParts {
  readonly environment: Pick<Environment, "openSession" | "run">;
  /** Whose files these are, as a plain word; what other owners have put below the base is not ours to remove. */
  readonly owner: string;
  readonly base?: TargetPath;
  /** All that the far side should have of ours; what is in it no longer, goes there as well. */
  list(signal: AbortSignal): Promise<Offer>;
  onWarning(text: string): void;
  readonly clock: Clock;
  /** How long an answer of the far side is believed. */
  readonly everyMs?: number;
}

/** A failure of one attempt, to be told and survived. */
class SyncFailure extends Error {}

export function createFileSync(parts: FileSyncParts): FileSync {
  const { environment, owner, base = "~/.hermes", list, onWarning, clock, everyMs = EVERY_MS } = parts;
  if (!/^[\w-]+$/.test(owner)) throw new TypeError("the owner of synced files must be a plain word");
  const hostFiles = createHostFiles();
  let current: Promise<void> | undefined;
  let triedAt: number | undefined;
  let isEmptyThere = false;
  let told = "";

  async function syncNow(signal: AbortSignal): Promise<void> {
    const warnings: string[] = [];
    try {
      const { files, problems } = await look(signal);
      warnings.push(...problems);
      if (files.size > 0 || !isEmptyThere) {
        isEmptyThere = false;
        await bringUpToDate(files, signal);
        isEmptyThere = files.size === 0;
      }
    } catch (error) {
      if (!(error instanceof SyncFailure)) throw error;
      warnings.push(`Files could not be copied to the host, which keeps what it had: ${error.message}.`);
    }
    const text = warnings.join(" ");
    if (text !== told && text !== "") onWarning(text); // the same again would only be noise
    told = text;
  }

  async function look(signal: AbortSignal): Promise<HostFilesFound> {
    try {
      return await hostFiles.look(await list(signal), signal);
    } catch (error) {
      signal.throwIfAborted();
      if (errnoOf(error) === undefined) throw error;
      throw new SyncFailure(messageOf(error));
    }
  }

  async function bringUpToDate(files: ReadonlyMap<string, HostFile>, signal: AbortSignal): Promise<void> {
    const wanted = formatManifest(files);
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const answer = await runScript(CHECK_SCRIPT, [wanted.head], undefined, CHECK_WITHIN_MS, signal);
      if (answer.word === "same") return;
      const present =
        answer.word === "differs" ? parseManifest(answer.rest) : { head: "", manifest: new Map() };
      if (answer.word === "none" && files.size === 0) return;
      if ((await apply(files, wanted, present, signal)) === "done") return;
    }
    throw new SyncFailure("other processes change the same files all the time");
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
    const texts = [
      { name: "plan", text: plan },
      { name: "manifest", text: wanted.text },
    ];
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
    const withinMs = APPLY_WITHIN_MS + bytes / SLOWEST_BYTES_PER_MS;
    const args = [present.head, randomBytes(8).toString("hex")];
    try {
      const { word, rest } = await runScript(APPLY_SCRIPT, args, archive(), withinMs, signal);
      const kept = rest.split("\n").filter((line) => line !== "");
      if (kept.length > 0)
        onWarning(`The host had its own files there, which are kept as ${kept.join(", ")}.`);
      return word;
    } catch (error) {
      throw problem === undefined ? error : new SyncFailure(problem);
    }
  }

  /** The first word of its answer and what follows it. */
  async function runScript(
    script: string,
    args: readonly string[],
    stdin: AsyncIterable<Uint8Array> | undefined,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<{ readonly word: string; readonly rest: string }> {
    const output = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
    let bytes = 0;
    const words = ["sh", "-c", script, "hermes-sync", base, owner, ...args].map(quoteWord).join(" ");
    const result = await environment.run(
      {
        command: `command exec ${words}`,
        session: environment.openSession(),
        workdir: "/",
        timeoutMs,
        stdin,
        onOutput(stream, chunk) {
          bytes += chunk.length;
          if (bytes <= LARGEST_ANSWER) output[stream].push(Buffer.from(chunk));
        },
      },
      signal,
    );
    if (result.ended === "stopped") signal.throwIfAborted();
    if (result.ended !== "exited") throw new SyncFailure(`the transfer ended early (${result.ended})`);
    if (bytes > LARGEST_ANSWER) throw new SyncFailure("the host's list of files is too long");
    const text = Buffer.concat(output.stdout).toString("utf8");
    const [, word = "failed", rest = text] = text.match(/^(\w+)\s([\s\S]*)$/) ?? [];
    if (word === "failed") {
      throw new SyncFailure(oneLine(`${rest} ${Buffer.concat(output.stderr).toString("utf8")}`));
    }
    return { word, rest };
  }

  return {
    async beforeCommand(signal) {
      for (;;) {
        signal.throwIfAborted();
        if (current === undefined) break;
        // Its failure is for whoever began it; we look again at how things stand then.
        await Promise.race([current.catch(() => undefined), aborted(signal)]);
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

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

function oneLine(text: string): string {
  return shorten(
    text
      .replace(/\p{C}+/gu, " ")
      .trim()
      .replace(/\.$/, ""),
    500,
  );
}
