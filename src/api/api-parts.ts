import type { TurnLimits } from "../agent/turn-limits.ts";
import type { ProcessIdentity } from "../lib/process/process-identity.ts";
import type { ParsedImage } from "../providers/image.ts";
import type { SessionStore } from "../sessions/session-store.ts";
import type { TurnHost } from "../turns/turn-host.ts";
import type { StreamTimes } from "./event-stream.ts";
import type { ApiServerOptions } from "./options.ts";
import type { ApiDatabase } from "./store/api-database.ts";

/** What the routes of the API work with. */
export interface ApiParts {
  readonly host: TurnHost;
  readonly database: ApiDatabase;
  readonly sessions: Pick<SessionStore, "findTurn" | "history">;
  readonly options: ApiServerOptions;
  /** The name of the profile's model, as clients see it. */
  readonly modelName: string;
  readonly version: string;
  readonly identity: ProcessIdentity;
  readonly limits: TurnLimits;
  readonly times: StreamTimes;
  /** Fetches an image where the settings allow its address. */
  fetchImage(address: string, signal: AbortSignal): Promise<ParsedImage>;
  /** Reports an error that no client caused. */
  onError(error: unknown): void;
}
