import { z } from "zod";
import { positionSchema } from "./position.ts";

const time = z.int();

/** A question to a person from any process of a profile. */
export const approvalSchema = z.object({
  id: z.string(),
  profile: z.string(),
  /** `approval`: may this call run? `clarification`: the model asks for information. */
  kind: z.enum(["approval", "clarification"]),
  sessionId: z.string(),
  tool: z.string(),
  /** What would happen, or the question. */
  summary: z.string(),
  /** The full text, if the summary is shortened. */
  whole: z.string().nullable(),
  /** Why a person is asked. */
  reason: z.string(),
  choices: z.array(z.string()).nullable(),
  /** Whether the answer may name several choices. */
  isSeveral: z.boolean(),
  /** What the answers `session` and `always` would allow; null if the answer is not possible. */
  session: z.string().nullable(),
  always: z.string().nullable(),
  task: z.object({ board: z.string(), id: z.string() }).nullable(),
  askedAt: time,
  endsAt: time.nullable(),
  state: z.enum(["waiting", "approved", "denied", "answered", "expired", "withdrawn"]),
  answer: z.string().nullable(),
  answeredBy: z.string().nullable(),
});
export type Approval = z.infer<typeof approvalSchema>;

/** GET approvals: what waits, of all profiles, the oldest first. */
export const approvalsAnswerSchema = z.object({ approvals: z.array(approvalSchema), at: positionSchema });
export type ApprovalsAnswer = z.infer<typeof approvalsAnswerSchema>;

/** POST approvals/:id; `always` changes the settings and needs the scope `admin`. */
export const approvalReplySchema = z.discriminatedUnion("verdict", [
  z.strictObject({
    verdict: z.literal("approved"),
    scope: z.enum(["once", "session", "always"]).default("once"),
    profile: z.string().optional(),
  }),
  z.strictObject({
    verdict: z.literal("denied"),
    text: z.string().max(1_000).optional(),
    profile: z.string().optional(),
  }),
  /** A choice, several choices on a line each, or free text. */
  z.strictObject({ verdict: z.literal("answered"), text: z.string(), profile: z.string().optional() }),
]);
export type ApprovalReply = z.input<typeof approvalReplySchema>;
