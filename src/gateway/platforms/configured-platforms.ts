import type { z } from "zod";
import { messageOf } from "../../lib/errors.ts";
import type { platformsOptions } from "../options.ts";
import type { ConfiguredPlatform } from "../runner/run-gateway.ts";
import type { CommonOptions } from "./common-options.ts";
import type { PlatformParts } from "./platform-parts.ts";
import { PLATFORM_NAMES, PLATFORMS, type PlatformName } from "./platform-registry.ts";

export type PlatformsConfig = z.infer<typeof platformsOptions>;

export interface PlatformReadiness {
  readonly name: PlatformName;
  readonly label: string;
  /** Whether the gateway connects to it. */
  readonly isOn: boolean;
  /** The settings that it needs and that are not set. */
  readonly missing: readonly string[];
}

/** Whether each platform is on, and which settings it lacks. Complete settings turn a platform on unless it is disabled. */
export function listReadiness(config: PlatformsConfig): readonly PlatformReadiness[] {
  return PLATFORM_NAMES.map((name) => {
    const options: CommonOptions & Readonly<Record<string, unknown>> = config[name];
    const { label, requiredSettings } = PLATFORMS[name];
    const missing = requiredSettings
      .filter((setting) => isUnset(options[setting]))
      .map((setting) => `platforms.${name}.${setting}`);
    return { name, label, isOn: options.enabled ?? missing.length === 0, missing };
  });
}

/** Loads the platforms that are on. A platform that cannot be set up is reported and skipped; the others are loaded. */
export async function openConfiguredPlatforms(
  config: PlatformsConfig,
  parts: PlatformParts,
): Promise<readonly ConfiguredPlatform[]> {
  const opened: ConfiguredPlatform[] = [];
  for (const { name, label, isOn, missing } of listReadiness(config)) {
    if (!isOn) continue;
    if (missing.length > 0) {
      parts.log.error("a platform is enabled, and its settings are not complete", {
        platform: name,
        missing,
      });
      continue;
    }
    try {
      const { open } = await PLATFORMS[name].load();
      // Safe: the name chose both the module and its settings.
      opened.push({ name, label, options: config[name], platform: open(config[name] as never, parts) });
    } catch (error) {
      parts.log.error("a platform could not be set up", { platform: name, error: messageOf(error) });
    }
  }
  return opened;
}

function isUnset(value: unknown): boolean {
  return (
    value === undefined || value === "" || value === null || (Array.isArray(value) && value.length === 0)
  );
}
