import { existsSync } from "node:fs";
import type { Platform, PlatformsAnswer } from "../../../api/contract/setup/platforms.ts";
import type { PlatformData } from "../../../api/dashboard/data/platform-data.ts";
import { listReadiness, type PlatformReadiness } from "../../../gateway/platforms/configured-platforms.ts";
import type { PlatformRecord } from "../../../gateway/runner/gateway-state.ts";
import { AppError } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log/log.ts";
import { createRedactor } from "../../../lib/redact/redactor.ts";
import { openGatewayRecords } from "../gateway-status.ts";
import type { LoadProfile } from "./load-profile.ts";

const NEVER_RUN: Omit<PlatformsAnswer, "platforms" | "at"> = {
  gateway: {
    isRunning: false,
    pid: null,
    phase: "stopped",
    seenAt: null,
    exitReason: null,
    writeProblem: null,
  },
  waiting: [],
  people: [],
};

/** The platforms of all profiles of a home, as their gateways have recorded them. */
export function openPlatforms(appOf: LoadProfile, log: Pick<Log, "info">): PlatformData {
  return {
    async read(name, signal) {
      const app = await appOf(name);
      const { platforms, gateway } = app.resolved.config;
      const readiness = listReadiness(platforms);
      // Opening the records would create the file.
      if (!existsSync(app.profile.gatewayPath))
        return { ...NEVER_RUN, platforms: readiness.map((one) => toPlatform(one, null)) };
      const { redact } = createRedactor({ secrets: app.resolved.secrets });
      using records = await openGatewayRecords(app, signal);
      const holder = await records.findHolder(signal);
      const state = records.state.read();
      const attentionMs = gateway.reconnect_attention_seconds * 1_000;
      const links = new Map(
        (holder === undefined ? [] : records.state.platforms()).map((record) => [record.name, record]),
      );
      return {
        gateway: {
          isRunning: holder !== undefined,
          pid: holder?.pid ?? null,
          phase: state.phase,
          seenAt: records.lastSeen() ?? null,
          exitReason: state.exitReason ?? null,
          writeProblem: (await records.findWriteProblem()) ?? null,
        },
        platforms: readiness.map((one) => {
          const link = links.get(one.name);
          return toPlatform(one, link === undefined ? null : toLink(link, attentionMs, redact));
        }),
        waiting: [...records.pairing.waiting()],
        people: [...records.pairing.users()],
      };
    },
    async approve(name, platform, code, signal) {
      const app = await appOf(name);
      if (!existsSync(app.profile.gatewayPath)) throw notFound(platform);
      using records = await openGatewayRecords(app, signal);
      const { userId, userName } = await records.pairing.approve(platform, code, signal);
      log.info("person let in", { profile: name, platform, userId });
      return { userId, userName };
    },
    async revoke(name, platform, userId, signal) {
      const app = await appOf(name);
      if (!existsSync(app.profile.gatewayPath)) throw notFound(platform);
      using records = await openGatewayRecords(app, signal);
      if (!(await records.pairing.revoke(platform, userId, signal)))
        throw new AppError("pairing-not-found", `This person is not paired on ${platform}.`, {
          hint: "A person in an allow-list of the settings is removed there.",
        });
      log.info("access of a person ended", { profile: name, platform, userId });
    },
  };
}

function notFound(platform: string): AppError {
  return new AppError(
    "pairing-not-found",
    `No request on ${platform} has this id or code, or it has expired.`,
  );
}

function toPlatform({ name, label, isOn, missing }: PlatformReadiness, link: Platform["link"]): Platform {
  return { name, label, isOn, missing: [...missing], link };
}

function toLink(
  { state, reason, attempts, since, heardAt }: PlatformRecord,
  attentionMs: number,
  redact: (text: string) => string,
): NonNullable<Platform["link"]> {
  const isLong = state === "retrying" && attentionMs > 0 && Date.now() - (heardAt ?? since) > attentionMs;
  return {
    ...{ state, attempts, since },
    reason: reason === undefined ? null : redact(reason),
    heardAt: heardAt ?? null,
    needsAttention: state === "failed" || isLong,
  };
}
