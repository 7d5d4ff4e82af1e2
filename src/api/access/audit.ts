import { openLogFile } from "../../lib/log/log-file.ts";
import type { LogLimits } from "../../lib/log/rotate-log.ts";
import { redactJson } from "../../lib/redact/redact-json.ts";
import type { Redactor } from "../../lib/redact/redactor.ts";
import type { Clock } from "../../lib/time/clock.ts";

/** A change by somebody who is signed in, or a refusal. */
export interface AuditLine {
  readonly action: string;
  readonly outcome: "done" | "refused";
  /** The name of the sign-in; unknown before signing in. */
  readonly login?: string | undefined;
  readonly address: string;
  readonly route?: string;
  /** The code of a refusal, or the names of changed things. */
  readonly detail?: string;
}

export interface Audit extends Disposable {
  write(line: AuditLine): void;
}

export interface AuditOptions extends LogLimits {
  readonly folder: string;
  readonly redactor: Redactor;
  readonly clock: Pick<Clock, "now">;
}

/** Refusals are limited, so that a stranger cannot push older lines out of the log. */
const REFUSALS_IN_WINDOW = 100;
const WINDOW_MS = 60_000;
const MAX_LENGTH = 500;

/** Opens `dashboard-audit.log`. Lines are redacted and the file is rotated. */
export function openAudit({ folder, redactor, clock, ...limits }: AuditOptions): Audit {
  const file = openLogFile(folder, "dashboard-audit", limits);
  const redact = (text: string): string => redactor.redact(text).slice(0, MAX_LENGTH);
  let window = { since: 0, refusals: 0 };

  const append = (level: string, msg: string, fields: object): void => {
    const time = new Date(clock.now()).toISOString();
    const safe = redactJson(fields, redact) as object;
    file.append(
      `${JSON.stringify({ level, time, pid: process.pid, component: "dashboard", msg, ...safe })}\n`,
    );
  };
  const isOneTooMany = (): boolean => {
    const now = clock.now();
    if (now - window.since >= WINDOW_MS) {
      const left = window.refusals - REFUSALS_IN_WINDOW;
      if (left > 0) append("warn", "further refusals were left out", { count: left });
      window = { since: now, refusals: 0 };
    }
    window.refusals += 1;
    return window.refusals > REFUSALS_IN_WINDOW;
  };

  return {
    write({ action, outcome, ...fields }) {
      if (outcome === "refused" && isOneTooMany()) return;
      append(outcome === "refused" ? "warn" : "info", action, { outcome, ...fields });
    },
    [Symbol.dispose]: () => file[Symbol.dispose](),
  };
}
