import { cp, mkdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { readTextFile, writeFileAtomic } from "../lib/files/files.ts";
import { exists, listNames } from "../lib/files/unless-missing.ts";
import type { Profile } from "./profile.ts";

/** What to copy from another profile into a new one. */
export interface CloneOptions {
  readonly source: Profile;
  /** Whether to copy everything except history, or only settings, secrets, persona, skills and memories. */
  readonly everything: boolean;
  /** Whether to copy the messaging accounts. Two profiles with the same bot token would compete for its messages. */
  readonly channels: boolean;
}

const CLONED = ["config.yaml", ".env", "SOUL.md", "skills", "memories/MEMORY.md", "memories/USER.md"];
/** History, caches, runtime files and files that identify the profile. */
const NEVER_CLONED =
  /^(profile-id|profiles|active_profile|sessions|sessions\.sqlite.*|state\.db.*|board\.sqlite.*|kanban|kanban\.db.*|backups|state-snapshots|checkpoints|cron|logs|cache|sandboxes|processes\.json|gateway.*|auth\.json|.*\.lock)$/;
/** The blocks of config.yaml that a new profile needs to call a model. */
const MODEL_BLOCKS = ["model", "fallback_providers", "providers"];
const CHANNEL_WORDS =
  "TELEGRAM|DISCORD|SLACK|WHATSAPP|SIGNAL|MATRIX|MATTERMOST|EMAIL|SMS|TWILIO|IRC|XMPP|TEAMS|FEISHU|LARK|DINGTALK|WECOM|WEIXIN|QQ|LINE|HOMEASSISTANT|HASS|BLUEBUBBLES|NTFY|MQTT|GOOGLE_CHAT|WEBHOOK|GATEWAY";
const CHANNEL_VARIABLE = new RegExp(
  `^[ \\t]*(?:export[ \\t]+)?(?:${CHANNEL_WORDS})_[A-Z0-9_]*[ \\t]*=.*(?:\\n|$)`,
  "gm",
);
const CHANNEL_SECTION = new RegExp(`^(?:${CHANNEL_WORDS}|platforms)$`, "i");

const EMPTY_ENV = "# Keys and passwords of this profile, one NAME=value per line.\n";

/** Fills a new profile with the model blocks of the default profile, without secrets. */
export async function fillNewProfile(target: Profile, template: Profile): Promise<void> {
  await writeFileAtomic(target.envPath, EMPTY_ENV, { mode: 0o600 });
  const { isMap, parseDocument } = await import("yaml");
  const document = parseDocument((await readTextFile(template.configPath)) ?? "");
  if (document.errors.length > 0 || !isMap(document.contents)) return;
  for (const pair of [...document.contents.items]) {
    if (!MODEL_BLOCKS.includes(String(pair.key))) document.delete(pair.key);
  }
  if (document.contents.items.length > 0) {
    await writeFileAtomic(target.configPath, document.toString({ lineWidth: 0 }), { mode: 0o600 });
  }
}

/** Fills a profile from another one. Follows links, so that the copy is independent of the source. */
export async function fillFromProfile(
  target: Profile,
  { source, everything, channels }: CloneOptions,
): Promise<void> {
  const names = everything
    ? (await listNames(source.home)).filter((name) => !NEVER_CLONED.test(name))
    : CLONED;
  for (const name of names) {
    if (!(await exists(join(source.home, name)))) continue;
    await mkdir(join(target.home, dirname(name)), { recursive: true, mode: 0o700 });
    await cp(join(source.home, name), join(target.home, name), {
      recursive: true,
      dereference: true,
      filter: (path) => !basename(path).endsWith(".lock"),
    });
  }
  if (!channels) await dropChannels(target);
  await writeFileAtomic(target.envPath, (await readTextFile(target.envPath)) ?? EMPTY_ENV, { mode: 0o600 });
}

async function dropChannels(target: Profile): Promise<void> {
  const env = await readTextFile(target.envPath);
  if (env !== undefined)
    await writeFileAtomic(target.envPath, env.replace(CHANNEL_VARIABLE, ""), { mode: 0o600 });
  const config = await readTextFile(target.configPath);
  if (config === undefined) return;
  const { isMap, parseDocument } = await import("yaml");
  const document = parseDocument(config);
  if (document.errors.length > 0 || !isMap(document.contents)) return;
  const sections = document.contents.items
    .map((pair) => String(pair.key))
    .filter((name) => CHANNEL_SECTION.test(name));
  for (const name of sections) document.delete(name);
  if (sections.length > 0) await writeFileAtomic(target.configPath, document.toString({ lineWidth: 0 }), {});
}
