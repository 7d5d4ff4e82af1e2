import { createHash } from "node:crypto";
import { type Chats, createChats } from "../../../api/chat/chats.ts";
import type { ChatMode } from "../../../api/contract/chat.ts";
import { messageOf } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log/log.ts";
import { createRedactor } from "../../../lib/redact/redactor.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { neverAborted } from "../../../lib/time/never-aborted.ts";
import type { TurnHost } from "../../../turns/turn-host.ts";
import type { App } from "../../app.ts";
import { createPolicyState } from "../../approvals.ts";
import { turnLimits } from "../../conversation.ts";
import { openTurnHost } from "../turn-host.ts";
import type { LoadProfile } from "./load-profile.ts";
import type { OpenSessions } from "./open-sessions.ts";

export interface ChatHosting {
  readonly load: LoadProfile;
  readonly sessions: OpenSessions;
  readonly log: Pick<Log, "info" | "error">;
  /** The folder of new sessions. */
  readonly cwd: string;
}

export interface OpenChats extends AsyncDisposable {
  readonly chats: Chats;
}

/** Opens the chats of all profiles. Each profile has a host for its turns from its first message on; disposing stops them. */
export function openChats({ load, sessions, log, cwd }: ChatHosting): OpenChats {
  const hosts = new Map<string, Promise<TurnHost>>();
  const onBug = (error: unknown): void => log.error("a chat met a bug", { error: messageOf(error) });

  function hostOf(app: App): Promise<TurnHost> {
    const { name } = app.profile;
    const known = hosts.get(name);
    if (known !== undefined) return known;
    const notices = { notify: (text: string) => log.info(text), onBug, load: () => load(name), cwd };
    const host = openTurnHost(app, notices, neverAborted);
    hosts.set(name, host);
    host.catch(() => hosts.delete(name));
    return host;
  }

  const chats = createChats({
    async load(profile) {
      const app = await load(profile);
      const { redact } = createRedactor({ secrets: app.resolved.secrets });
      return {
        host: () => hostOf(app),
        version: hashSettings(app),
        limits: turnLimits(app, {}),
        mode: modeOf(app),
        redact: (text) => redact(text),
      };
    },
    findSession: async (profile, turnId) => (await sessions.open(profile)).findTurn(turnId, 0)?.sessionId,
    clock: systemClock,
    onBug,
  });
  return {
    chats,
    async [Symbol.asyncDispose]() {
      for (const host of hosts.values()) await (await host.catch(() => undefined))?.[Symbol.asyncDispose]();
    },
  };
}

/** The mode of a session in which nobody has chosen one. */
export function modeOf(app: App): ChatMode {
  const { mode, isYolo } = createPolicyState(app, {});
  return isYolo ? "off" : mode;
}

function hashSettings({ resolved: { config, secrets } }: App): string {
  return createHash("sha256")
    .update(JSON.stringify([config, secrets]))
    .digest("hex");
}
