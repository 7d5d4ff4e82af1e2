import type { ProcessIdentity } from "../../lib/process/process-identity.ts";
import type { AccessMode } from "../access/access-mode.ts";
import type { Audit } from "../access/audit.ts";
import type { RateLimit } from "../access/rate-limit.ts";
import type { SignInStore } from "../access/sign-in-store.ts";
import type { Live } from "../live/live.ts";
import type { BoardData } from "./data/board-data.ts";
import type { HomeChanges } from "./data/home-changes.ts";
import type { ProfileData } from "./data/profile-data.ts";

/** What the data routes read and change. Each file of routes adds the part that it needs here; app/ opens them. */
export interface DashboardData {
  readonly boards: BoardData;
  readonly profiles: ProfileData;
  readonly changes: HomeChanges;
  /** This process, which holds what it changes. */
  readonly identity: ProcessIdentity;
}

/** What the routes of the dashboard work with. */
export interface DashboardParts {
  readonly data: DashboardData;
  readonly signIns: SignInStore;
  /** Attempts to sign in, by address. */
  readonly attempts: RateLimit;
  readonly live: Live;
  readonly access: AccessMode;
  readonly audit: Audit;
  readonly version: string;
  /** The profile that the server was started with. */
  readonly profile: string;
  /** The port that the server listens on; browsers keep cookies apart by name, not by port. */
  readonly port: number;
}
