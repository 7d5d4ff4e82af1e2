import type { ApprovedPairing, PlatformsAnswer } from "../../contract/setup/platforms.ts";

/** The platforms of any profile and who is let in. Each function throws `profile-not-found`. */
export interface PlatformData {
  read(profile: string, signal: AbortSignal): Promise<Omit<PlatformsAnswer, "at">>;
  /** Throws `pairing-not-found` or `pairing-locked`. */
  approve(profile: string, platform: string, code: string, signal: AbortSignal): Promise<ApprovedPairing>;
  /** Throws `pairing-not-found`. */
  revoke(profile: string, platform: string, userId: string, signal: AbortSignal): Promise<void>;
}
