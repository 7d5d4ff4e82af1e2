import { join } from "node:path";
import { type ApiServer, startApiServer } from "../../api/api-server.ts";
import { createApiKey } from "../../api/keys/api-keys.ts";
import { writeSecret } from "../../config/files/write-setting.ts";
import { ensurePrivateFolder } from "../../lib/files/files.ts";
import { readOwnIdentity } from "../../lib/process/process-identity.ts";
import { openSessionStore } from "../../sessions/session-store.ts";
import type { TurnHost } from "../../turns/turn-host.ts";
import { VERSION } from "../../version.ts";
import type { App } from "../app.ts";
import { fetchImage, turnLimits } from "../conversation.ts";

export function apiDatabasePath({ profile }: App): string {
  return join(profile.home, "api.sqlite");
}

export interface AppApiServer extends ApiServer {
  /** Whether this start generated the key, which is in `.env`. */
  readonly isKeyNew: boolean;
}

/** Serves the API of the profile with the turns of a host, which the caller drains and closes. */
export async function startAppApiServer(
  app: App,
  { host, onError }: { readonly host: TurnHost; onError(error: unknown): void },
  signal: AbortSignal,
): Promise<AppApiServer> {
  const { profile, resolved } = app;
  const { api_server: options } = resolved.config;
  await ensurePrivateFolder(profile.home);
  const mainKey = options.key || (await generateKey(app, signal));
  const sessions = await openSessionStore(profile.sessionsPath, {}, signal);
  try {
    const server = await startApiServer(
      {
        host,
        sessions,
        options,
        mainKey,
        databasePath: apiDatabasePath(app),
        modelName: options.model_name || (profile.name === "default" ? "hermes-agent" : profile.name),
        version: VERSION,
        identity: await readOwnIdentity(signal),
        limits: turnLimits(app, {}),
        fetchImage: (address, within) => fetchImage(app, address, within),
        onError,
      },
      signal,
    );
    return {
      url: server.url,
      isKeyNew: options.key === "",
      async [Symbol.asyncDispose]() {
        await host.drain(AbortSignal.abort()); // ends the turns that the caller has not drained
        await server[Symbol.asyncDispose]();
        sessions[Symbol.dispose]();
      },
    };
  } catch (error) {
    sessions[Symbol.dispose]();
    throw error;
  }
}

/** Generates the key into `.env`. The lease of the gateway keeps two processes from doing so at once. */
async function generateKey(app: App, signal: AbortSignal): Promise<string> {
  const { profile } = app;
  const key = createApiKey();
  await writeSecret(profile.envPath, profile.home, "API_SERVER_KEY", key, signal);
  return key;
}
