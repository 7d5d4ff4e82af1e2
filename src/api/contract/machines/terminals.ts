import { z } from "zod";

const cells = z.int().min(2).max(1_000);
const name = z
  .string()
  .min(1)
  .max(200)
  .regex(/^\P{Cc}+$/u, "contains control characters");
const size = { columns: cells, rows: cells };

/** What a terminal shows: a shell in the sandbox of a task, a running job of it, or the chat. */
export const newTerminalSchema = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("sandbox"), profile: name, task: name, ...size }),
  z.strictObject({ kind: z.literal("job"), profile: name, task: name, job: name, ...size }),
  /** Without a session, the chat begins one. */
  z.strictObject({ kind: z.literal("chat"), profile: name, session: name.optional(), ...size }),
]);
export type NewTerminal = z.infer<typeof newTerminalSchema>;

export const terminalRowSchema = z.object({
  id: z.string(),
  kind: z.enum(["sandbox", "job", "chat"]),
  profile: z.string(),
  /** The task and job, or the session; null for a new session. */
  subject: z.string().nullable(),
  startedAt: z.int(),
  /** Whether a page shows it now. */
  isAttached: z.boolean(),
});
export type TerminalRow = z.infer<typeof terminalRowSchema>;

/** GET terminals */
export const terminalsAnswerSchema = z.object({ terminals: z.array(terminalRowSchema) });
export type TerminalsAnswer = z.infer<typeof terminalsAnswerSchema>;

/** Answer of POST terminals and POST terminals/:id/tickets. The ticket opens one socket, once, within 30 seconds. */
export const terminalTicketSchema = z.object({ id: z.string(), ticket: z.string() });
export type TerminalTicket = z.infer<typeof terminalTicketSchema>;

/** The text frames that a page sends. Its binary frames are input, at most `MAX_INPUT_BYTES` each. */
export const terminalRequestSchema = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("resize"), ...size }),
  /** The page has processed this many bytes of output since the last report. */
  z.strictObject({ type: z.literal("read"), bytes: z.int().min(1).max(100_000_000) }),
]);
export type TerminalRequest = z.infer<typeof terminalRequestSchema>;

/** The text frames that a page gets. Binary frames are output. */
export type TerminalNotice =
  /** The binary frames after this one redraw the screen from the beginning. */
  | { readonly type: "screen"; readonly columns: number; readonly rows: number }
  | { readonly type: "exit"; readonly code: number };

export type TerminalCloseCode = 4401 | 4403 | 4408 | 4409 | 4410;
