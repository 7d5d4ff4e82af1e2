import { AppError } from "../../../lib/errors.ts";
import { followNewLines } from "../../../lib/log/follow-log.ts";
import type { PlacedLine } from "../../../lib/log/read-log-page.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import type { DashboardData } from "../../dashboard/dashboard-parts.ts";
import { toLogLine } from "../../dashboard/routes/logs/log-line.ts";
import type { LiveSink, LiveSource } from "../live-source.ts";

/** Lines within this time become one event. */
const GATHER_MS = 100;
/** More lines at once are omitted, oldest first. */
const MAX_LINES = 1_000;
const FILES = ["agent", "errors"] as const; // the audit has another scope

/** Publishes new lines of a log, while a page shows it. The topic is `log:PROFILE/FILE`. */
export function createLogSource(
  profiles: Pick<DashboardData["profiles"], "logsFolder" | "redactor">,
): LiveSource {
  return {
    kind: "log",
    async open(name, sink, signal) {
      const [profile = "", fileName] = name.split("/");
      const file = FILES.find((known) => known === fileName);
      if (file === undefined) throw new AppError("file-unreadable", `There is no log ${fileName}.`);
      const folder = await profiles.logsFolder(profile);
      const redact = await profiles.redactor(profile);
      const end = new AbortController();
      const gathered = new Gathered();
      const follow = (onOpen: () => void): Promise<unknown> => {
        const read = async (): Promise<void> => {
          for await (const line of followNewLines(folder, file, end.signal, onOpen)) gathered.add(line);
        };
        return Promise.all([read(), publish(gathered, redact, sink, end.signal)]);
      };
      let ended = Promise.resolve();
      await new Promise<void>((opened, failed) => {
        ended = follow(opened).then(
          () => undefined,
          (error: unknown) => {
            failed(error); // has no effect once the log is open
            if (!end.signal.aborted) sink.fail(error);
          },
        );
      });
      const close = async (): Promise<void> => {
        end.abort();
        await ended;
      };
      if (signal.aborted) await close();
      signal.throwIfAborted();
      return { [Symbol.asyncDispose]: close };
    },
  };
}

async function publish(
  gathered: Gathered,
  redact: (text: string) => string,
  sink: LiveSink,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await systemClock.sleep(GATHER_MS, signal);
    const { lines, skipped } = gathered.take();
    if (lines.length > 0)
      sink.publish("log-line", { lines: lines.map((line) => toLogLine(line, redact)), skipped });
  }
}

/** Lines that wait to be published, only the newest ones. */
class Gathered {
  #lines: PlacedLine[] = [];
  #skipped = 0;

  add(line: PlacedLine): void {
    this.#lines.push(line);
    if (this.#lines.length < 2 * MAX_LINES) return;
    this.#skipped += MAX_LINES;
    this.#lines = this.#lines.slice(MAX_LINES);
  }

  take(): { readonly lines: readonly PlacedLine[]; readonly skipped: number } {
    const excess = Math.max(0, this.#lines.length - MAX_LINES);
    const taken = { lines: this.#lines.slice(excess), skipped: this.#skipped + excess };
    this.#lines = [];
    this.#skipped = 0;
    return taken;
  }
}
