import { z } from "zod";
import { positionSchema } from "./position.ts";

const LEVELS = ["debug", "info", "warn", "error"] as const;
const LOG_FILES = ["agent", "errors"] as const;

export type LogLevelName = (typeof LEVELS)[number];
export type LogFile = (typeof LOG_FILES)[number];

/** One line of a log, redacted and shortened. */
export const logLineSchema = z.object({
  /** The file of the log that contains the line, and the offset in bytes where the line ends. */
  file: z.string(),
  end: z.int(),
  /** Null for text that is not a record of the log, such as a torn line. The same for `level` and `session`. */
  at: z.int().nullable(),
  level: z.enum(LEVELS).nullable(),
  component: z.string(),
  session: z.string().nullable(),
  text: z.string(),
  /** The other fields: `name=value` separated by spaces. */
  details: z.string(),
});
export type LogLine = z.infer<typeof logLineSchema>;

/** Query of GET profiles/:profile/logs. A line must meet all conditions. */
export const logQuerySchema = z.strictObject({
  file: z.enum(LOG_FILES).default("agent"),
  /** The least level. */
  level: z.enum(LEVELS).optional(),
  component: z.string().optional(),
  session: z.string().optional(),
  since: z.coerce.number().int().optional(),
  /** Text that the line contains; case is ignored. */
  q: z.string().max(500).optional(),
  /** `older` of an earlier answer. */
  before: z.string().max(200).optional(),
});
export type LogFilter = Omit<z.infer<typeof logQuerySchema>, "before" | "file">;

export const logAnswerSchema = z.object({
  /** Oldest first. */
  lines: z.array(logLineSchema),
  /** For the next older page; null at the start of the log. A page may be empty although older lines match. */
  older: z.string().nullable(),
  /** The size of each file of the log: lines of the stream that end before it are part of this answer. */
  ends: z.record(z.string(), z.int()),
  at: positionSchema,
});
export type LogAnswer = z.infer<typeof logAnswerSchema>;

/** Event `log-line` of the topic `log:PROFILE/FILE`: new lines, of any level. */
export interface LogLines {
  readonly lines: readonly LogLine[];
  /** How many lines before these were omitted because too many were written at once. */
  readonly skipped: number;
}

/** GET audit?before */
export const auditQuerySchema = z.strictObject({ before: z.string().max(200).optional() });
export const auditAnswerSchema = z.object({ lines: z.array(logLineSchema), older: z.string().nullable() });
export type AuditAnswer = z.infer<typeof auditAnswerSchema>;
