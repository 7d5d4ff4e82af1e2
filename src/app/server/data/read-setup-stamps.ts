import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { SetupStamps } from "../../../api/dashboard/data/setup-stamps.ts";
import { unlessMissing } from "../../../lib/files/unless-missing.ts";
import { activeProfilePath } from "../../../profiles/profile.ts";
import { descriptionPath } from "../../../profiles/profile-description.ts";
import { listProfiles } from "../../../profiles/profile-store.ts";
import type { App } from "../../app.ts";

/** Stamps of the files of all profiles, from their sizes and times. */
export function createSetupStamps({ profile: { root } }: App): SetupStamps {
  return {
    async read() {
      const found = await Promise.all(
        (await listProfiles(root)).map(async (profile) => ({
          name: profile.name,
          settings: await stampOf([profile.configPath, profile.envPath]),
          gateway: await stampOf([profile.gatewayPath, `${profile.gatewayPath}-wal`]),
          description: await stampOf([descriptionPath(profile)]),
        })),
      );
      const rootConfig = await stampOf([join(root, "config.yaml"), join(root, ".env")]);
      const active = await stampOf([activeProfilePath(root)]);
      const names = found.map(({ name, description }) => `${name} ${description}`);
      return {
        // Profiles use some settings of the root home.
        settings: new Map(found.map(({ name, settings }) => [name, `${settings} ${rootConfig}`])),
        gateways: new Map(found.map(({ name, gateway }) => [name, gateway])),
        profiles: [...names, active].join("\n"),
      };
    },
  };
}

async function stampOf(paths: readonly string[]): Promise<string> {
  const facts = await Promise.all(paths.map((path) => unlessMissing(stat(path, { bigint: true }))));
  return facts
    .map((file) => (file === undefined ? "-" : `${file.ino}:${file.mtimeNs}:${file.size}`))
    .join(" ");
}
