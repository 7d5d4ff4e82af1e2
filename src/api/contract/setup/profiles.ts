import { z } from "zod";
import { positionSchema } from "../position.ts";

const count = z.int().min(0);

/** A profile was created, deleted, described or made the active one, by any process. */
export type ProfileChange = Readonly<Record<string, never>>;

const profileName = z.string().trim().min(1).max(64);

/** GET profiles/:profile */
export const profileSchema = z.object({
  name: z.string(),
  /** A name for people; empty without one. */
  displayName: z.string(),
  description: z.string(),
  /** The folder of the profile. */
  home: z.string(),
  /** `provider:model` of a new session; null without one. */
  model: z.string().nullable(),
  backend: z.string(),
  /** The default of later commands. */
  isActive: z.boolean(),
  /** Why it cannot be deleted at all; null if it can. */
  protectedBecause: z.string().nullable(),
  sessions: count,
  /** US dollars of all its sessions. */
  costUsd: z.number(),
  /** How many problems its settings have. */
  problems: count,
  /** Whether its gateway runs. */
  hasGateway: z.boolean(),
  at: positionSchema,
});
export type Profile = z.infer<typeof profileSchema>;

/** POST profiles. Without `cloneFrom` the new profile has only the model of the default one. */
export const newProfileSchema = z.strictObject({
  name: profileName,
  description: z.string().max(2_000).optional(),
  cloneFrom: profileName.optional(),
  /** Copies everything except history, instead of only settings, secrets, persona, skills and memories. */
  everything: z.boolean().optional(),
  /** Also copies the messaging accounts. */
  channels: z.boolean().optional(),
});
export type NewProfile = z.infer<typeof newProfileSchema>;

export const createdProfileSchema = z.object({ name: z.string() });
export type CreatedProfile = z.infer<typeof createdProfileSchema>;

/** PATCH profiles/:profile */
export const profileEditSchema = z.strictObject({
  description: z.string().max(2_000).optional(),
  displayName: z.string().max(64).optional(),
});
export type ProfileEdit = z.infer<typeof profileEditSchema>;

/** GET profiles/:profile/removal: what a deletion would end or leave. */
export const profileRemovalSchema = z.object({
  /** Why it cannot be deleted now; null if it can. */
  refusal: z.object({ text: z.string(), hint: z.string() }).nullable(),
  sessions: count,
  /** The names of its sandboxes, which are removed. */
  sandboxes: z.array(z.string()),
  /** Open tasks, which stay without a profile. */
  tasks: z.array(z.object({ board: z.string(), count })),
  /** The setting of each other profile that names this one. */
  settings: z.array(z.object({ profile: z.string(), key: z.string() })),
  /** Its gateway runs, and would lose its home. */
  hasGateway: z.boolean(),
  home: z.string(),
});
export type ProfileRemoval = z.infer<typeof profileRemovalSchema>;

/** DELETE profiles/:profile. The data is kept for thirty days. */
export const removedProfileSchema = z.object({
  keptIn: z.string(),
  /** One sentence for each thing that could not be removed or still names the profile. */
  notes: z.array(z.string()),
});
export type RemovedProfile = z.infer<typeof removedProfileSchema>;
