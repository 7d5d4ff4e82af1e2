import { isAtLeast } from "../../../../lib/log/log-level.ts";
import type { PlacedLine } from "../../../../lib/log/read-log-page.ts";
import type { LogFilter, LogLine } from "../../../contract/logs.ts";

type Redact = (text: string) => string;

const HEADING: ReadonlySet<string> = new Set(["time", "level", "pid", "component", "session", "msg"]);
/** Longer texts are cut, so that no line makes an answer large. */
const MAX_TEXT = 2_000;

/** Converts a stored line for a page. */
export function toLogLine({ line, file, end }: PlacedLine, redact: Redact): LogLine {
  if (line.kind === "raw")
    return {
      file,
      end,
      at: null,
      level: null,
      component: "",
      session: null,
      text: shorten(line.text, redact),
      details: "",
    };
  const { time, level, component, session, msg } = line.record;
  const at = Date.parse(time);
  return {
    ...{ file, end, level },
    at: Number.isNaN(at) ? null : at,
    component: shorten(component, redact),
    session: session === undefined ? null : shorten(session, redact),
    text: shorten(msg, redact),
    details: shorten(detailsOf(line.record), redact),
  };
}

/** Whether a line meets a filter. A line that is not a record has no fields and meets only a search. */
export function fitsLogFilter(line: LogLine, { level, component, session, since, q }: LogFilter): boolean {
  if (level !== undefined && (line.level === null || !isAtLeast(line.level, level))) return false;
  if (component !== undefined && line.component !== component) return false;
  if (session !== undefined && line.session !== session) return false;
  if (since !== undefined && (line.at === null || line.at < since)) return false;
  if (q === undefined) return true;
  const text = `${line.component} ${line.session ?? ""} ${line.text} ${line.details}`;
  return text.toLowerCase().includes(q.toLowerCase());
}

function detailsOf(record: object): string {
  return Object.entries(record)
    .filter(([name]) => !HEADING.has(name))
    .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(" ");
}

/** Redacted before it is cut, because half a secret is not recognised. */
function shorten(text: string, redact: Redact): string {
  const safe = redact(text.slice(0, MAX_TEXT * 2));
  return safe.length > MAX_TEXT ? `${safe.slice(0, MAX_TEXT)}…` : safe;
}
