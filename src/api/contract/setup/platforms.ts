import { z } from "zod";
import { positionSchema } from "../position.ts";

const time = z.int();

/** The gateway of a profile has stored something: a state, a message, a request of a person. */
export interface PlatformChange {
  readonly profile: string;
}

/** A platform as the settings and the gateway describe it. */
const platformSchema = z.object({
  name: z.string(),
  /** What people call the service. */
  label: z.string(),
  /** Whether the gateway connects to it. */
  isOn: z.boolean(),
  /** The settings that it needs and that are not set. */
  missing: z.array(z.string()),
  /** What the running gateway reports; null while none runs or it has not reported yet. */
  link: z
    .object({
      state: z.enum(["connecting", "connected", "retrying", "failed", "off"]),
      /** Why it is not connected. */
      reason: z.string().nullable(),
      attempts: z.int(),
      since: time,
      /** When the service was last heard. */
      heardAt: time.nullable(),
      needsAttention: z.boolean(),
    })
    .nullable(),
});
export type Platform = z.infer<typeof platformSchema>;

/** A person who wrote to the gateway and waits to be let in. */
const pairingRequestSchema = z.object({
  id: z.string(),
  platform: z.string(),
  userId: z.string(),
  userName: z.string(),
  requestedAt: time,
});

/** A person who was let in. */
const pairedPersonSchema = z.object({
  platform: z.string(),
  userId: z.string(),
  userName: z.string(),
  pairedAt: time,
});
export type PairedPerson = z.infer<typeof pairedPersonSchema>;

/** GET profiles/:profile/platforms */
export const platformsAnswerSchema = z.object({
  gateway: z.object({
    isRunning: z.boolean(),
    pid: z.int().nullable(),
    phase: z.enum(["starting", "running", "draining", "stopped"]),
    /** When it last showed that it runs; null if it never ran. */
    seenAt: time.nullable(),
    /** Why it ended. */
    exitReason: z.string().nullable(),
    /** Why it cannot store messages. */
    writeProblem: z.string().nullable(),
  }),
  platforms: z.array(platformSchema),
  waiting: z.array(pairingRequestSchema),
  people: z.array(pairedPersonSchema),
  at: positionSchema,
});
export type PlatformsAnswer = z.infer<typeof platformsAnswerSchema>;

/** POST profiles/:profile/pairing/:platform/approve: the id of the request, or the code that the person was sent. */
export const approvePairingSchema = z.strictObject({ code: z.string().trim().min(1).max(100) });

export const approvedPairingSchema = z.object({ userId: z.string(), userName: z.string() });
export type ApprovedPairing = z.infer<typeof approvedPairingSchema>;

/** POST profiles/:profile/pairing/:platform/revoke */
export const revokePairingSchema = z.strictObject({ userId: z.string().min(1).max(500) });
