import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log/log.ts";
import { runProcess } from "../../lib/process/process.ts";
import { shorten } from "../../lib/text/shorten.ts";
import { type HookFolder, type HookManifest, listHookFolders } from "./hook-folders.ts";
import type { TrustedHooks } from "./trusted-hooks.ts";

/** The JSON that a hook reads from its standard input. Long texts are cut. */
export interface HookEvent {
  readonly event: string;
  readonly platform?: string;
  readonly chatId?: string;
  readonly userId?: string;
  readonly sessionId?: string;
  readonly turnId?: string;
  readonly text?: string;
  readonly outcome?: string;
  readonly tool?: string;
}

export interface Hooks {
  /** Passes an event to every hook that names it. Never waits and never throws: a hook can only observe. */
  fire(event: HookEvent): void;
  /** Resolves when all running hooks have ended. */
  waitUntilIdle(): Promise<void>;
}

export interface HookParts {
  /** The folder `hooks` of the home. */
  readonly folder: string;
  readonly trusted: TrustedHooks;
  /** The complete environment of hooks. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
}

const RUN_WITHIN_MS = 30_000;
const MAX_QUEUED = 100;
const MAX_TEXT_LENGTH = 500;
const MAX_OUTPUT_BYTES = 64_000;
const SHOWN_CHARS = 200;

/** Loads the trusted hooks of a home. Each event starts a process; a hook gets its events one after the other. */
export async function loadHooks(
  { folder, trusted, variables, log }: HookParts,
  signal: AbortSignal,
): Promise<Hooks> {
  const loaded: {
    readonly hook: HookFolder;
    readonly manifest: HookManifest;
    queued: number;
    last: Promise<void>;
  }[] = [];
  for (const hook of await listHookFolders(folder)) {
    const { name, manifest } = hook;
    if ("problem" in manifest) log.warn("a hook cannot be used", { hook: name, problem: manifest.problem });
    else if (trusted.hashOf(name) !== hook.hash)
      log.warn("a hook is not run: it is new or has changed", {
        hook: name,
        hint: `hermes gateway hooks ${name} --trust`,
      });
    else loaded.push({ hook, manifest, queued: 0, last: Promise.resolve() });
  }

  async function run(
    { name, folder: cwd }: HookFolder,
    { command }: HookManifest,
    event: HookEvent,
  ): Promise<void> {
    const result = await runProcess(
      ["sh", "-c", command],
      {
        cwd,
        env: variables,
        stdin: `${JSON.stringify(event)}\n`,
        timeoutMs: RUN_WITHIN_MS,
        maxOutputBytes: MAX_OUTPUT_BYTES,
      },
      signal,
    );
    if (result.exitCode === 0 && !result.timedOut) return;
    const why = result.timedOut
      ? `it took longer than ${RUN_WITHIN_MS / 1_000} s`
      : `exit code ${result.exitCode}`;
    log.warn("a hook failed", {
      hook: name,
      event: event.event,
      why,
      stderr: shorten(result.stderr.trim(), SHOWN_CHARS),
    });
  }

  return {
    fire(event) {
      const short = {
        ...event,
        ...(event.text !== undefined && { text: shorten(event.text, MAX_TEXT_LENGTH) }),
      };
      for (const one of loaded) {
        if (!one.manifest.events.some((wanted) => matches(wanted, event.event))) continue;
        if (one.queued >= MAX_QUEUED) {
          log.warn("a hook is too slow, and misses an event", { hook: one.hook.name, event: event.event });
          continue;
        }
        one.queued++;
        one.last = one.last
          .then(() => run(one.hook, one.manifest, short))
          .catch((error: unknown) => {
            if (!signal.aborted) log.warn("a hook failed", { hook: one.hook.name, error: messageOf(error) });
          })
          .finally(() => {
            one.queued--;
          });
      }
    },
    async waitUntilIdle() {
      await Promise.all(loaded.map(({ last }) => last));
    },
  };
}

/** `agent:*` and `command:*` mean every event of that kind. */
function matches(wanted: string, event: string): boolean {
  return wanted === event || (wanted.endsWith(":*") && event.startsWith(wanted.slice(0, -1)));
}
