import type { ProcessIdentity } from "../../lib/process/process-identity.ts";
import type { AccessMode } from "../access/access-mode.ts";
import type { Audit } from "../access/audit.ts";
import type { OidcFlows } from "../access/oidc/oidc-flows.ts";
import type { RateLimit } from "../access/rate-limit.ts";
import type { SignInStore } from "../access/sign-in-store.ts";
import type { Chats } from "../chat/chats.ts";
import type { Live } from "../live/live.ts";
import type { StartTerminal } from "../terminals/terminal-process.ts";
import type { Terminals } from "../terminals/terminals.ts";
import type { BoardData } from "./data/board-data.ts";
import type { HomeChanges } from "./data/home-changes.ts";
import type { ProfileData } from "./data/profile-data.ts";
import type { SandboxData } from "./data/sandbox-data.ts";
import type { SettingsData } from "./data/settings-data.ts";
import type { SetupStamps } from "./data/setup-stamps.ts";

/** What the data routes read and change. Each file of routes declares its part here, and app/ opens it. */
export interface DashboardData {
  readonly boards: BoardData;
  readonly profiles: ProfileData;
  readonly settings: SettingsData;
  readonly setup: SetupStamps;
  readonly chats: Chats;
  readonly sandboxes: SandboxData;
  readonly startTerminal: StartTerminal;
  readonly changes: HomeChanges;
  /** This process, as the holder of what it changes. */
  readonly identity: ProcessIdentity;
}

/** What the routes of the dashboard work with. */
export interface DashboardParts {
  readonly data: DashboardData;
  readonly signIns: SignInStore;
  /** Counts attempts to sign in, by address. */
  readonly attempts: RateLimit;
  /** Sign-ins with the provider that wait for its answer. */
  readonly oidcFlows: OidcFlows;
  readonly live: Live;
  readonly terminals: Terminals;
  /** Closes the sockets of a sign-in that has ended. */
  disconnect(signIn: string): void;
  readonly access: AccessMode;
  readonly audit: Audit;
  readonly version: string;
  /** The profile that the server was started with. */
  readonly profile: string;
  /** The port that the server listens on. It is part of the cookie's name, because browsers share cookies between ports. */
  readonly port: number;
}
