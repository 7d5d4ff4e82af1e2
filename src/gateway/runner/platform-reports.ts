import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log/log.ts";
import type { GatewayState, PlatformReport } from "./gateway-state.ts";

/** Stores the reports of the links without making them wait. While nothing can be stored, only the newest report is kept. */
export interface Reports {
  report(record: PlatformReport): void;
  heard(name: string): void;
  /** Resolves when everything was written. */
  waitUntilWritten(): Promise<void>;
}

export function createReports(state: GatewayState, log: Log): Reports {
  const newest = new Map<string, PlatformReport>();
  const heard = new Set<string>();
  const never = new AbortController().signal;
  let isWriting = false;
  let writing: Promise<void> | undefined;

  async function write(): Promise<void> {
    for (;;) {
      const [next] = newest.values();
      const [name] = heard;
      try {
        if (next !== undefined) {
          newest.delete(next.name);
          await state.setPlatform(next, never);
        } else if (name !== undefined) {
          heard.delete(name);
          await state.setHeard(name, never);
        } else {
          isWriting = false; // at once: the next report may come before the caller of this function continues
          return;
        }
      } catch (error) {
        log.warn("the state of a platform could not be stored", { error: messageOf(error) });
      }
    }
  }

  function start(): void {
    if (isWriting) return;
    isWriting = true;
    writing = write();
  }

  return {
    report(record) {
      newest.set(record.name, record);
      start();
    },
    heard(name) {
      heard.add(name);
      start();
    },
    waitUntilWritten: async () => void (await writing),
  };
}
