import { cp, mkdir, readdir, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isMap, parseDocument } from "yaml";
import { errnoOf } from "../lib/errors.ts";
import { readTextFile, writeFileAtomic } from "../lib/files.ts";
import type { Profile } from "./profile.ts";

/** What a new profile takes over from another one. */
export interface CloneOptions {
  readonly source: Profile;
  /** Everything but history, instead of only settings, secrets, persona, skills and memories. */
  readonly everything: boolean;
  /** Also the messaging accounts. Off by default: two profiles answering on one bot token fight over it. */
  readonly channels: boolean;
}

const CLONED = ["config.yaml", ".env", "SOUL.md", "skills", "memories/MEMORY.md", "memories/USER.md"];
/** History, caches, runtime files and what names the profile itself. */
const NEVER_CLONED =
  /^(profile-id|profiles|active_profile|sessions|sessions\.sqlite.*|state\.db.*|board\.sqlite.*|kanban|kanban\.db.*|backups|state-snapshots|checkpoints|cron|logs|cache|sandboxes|processes\.json|gateway.*|auth\.json|.*\.lock)$/;
/** Blocks of config.yaml that a new profile needs to be able to answer at all. */
const MODEL_BLOCKS = ["model", "fallback_providers", "providers"];
const CHANNEL_WORDS =
  "TELEGRAM|DISCORD|SLACK|WHATSAPP|SIGNAL|MATRIX|MATTERMOST|EMAIL|SMS|TWILIO|IRC|XMPP|TEAMS|FEISHU|LARK|DINGTALK|WECOM|WEIXIN|QQ|LINE|HOMEASSISTANT|HASS|BLUEBUBBLES|NTFY|MQTT|GOOGLE_CHAT|WEBHOOK|GATEWAY";
const CHANNEL_VARIABLE = new RegExp(
  `^[ \\t]*(?:export[ \\t]+)?(?:${CHANNEL_WORDS})_[A-Z0-9_]*[ \\t]*=.*(?:\\n|$)`,
  "gm",
);
const CHANNEL_SECTION = new RegExp(`^(?:${CHANNEL_WORDS}|platforms)$`, "i");

const EMPTY_ENV = "# Keys and passwords of this profile, one NAME=value a line.\n";

/** Fills a blank profile: no secrets, and the model block of the default profile. */
export async function fillNew(target: Profile, template: Profile): Promise<void> {
  await writeFileAtomic(target.envPath, EMPTY_ENV, { mode: 0o600 });
  const document = parseDocument((await readTextFile(template.configPath)) ?? "");
  if (document.errors.length > 0 || !isMap(document.contents)) return;
  for (const pair of [...document.contents.items]) {
    if (!MODEL_BLOCKS.includes(String(pair.key))) document.delete(pair.key);
  }
  if (document.contents.items.length > 0) {
    await writeFileAtomic(target.configPath, document.toString({ lineWidth: 0 }), { mode: 0o600 });
  }
}

/** Fills a profile from another one; links are followed, so that the copy stands on its own. */
export async function fillFromClone(
  target: Profile,
  { source, everything, channels }: CloneOptions,
): Promise<void> {
  const wanted = everything ? (await names(source.home)).filter((name) => !NEVER_CLONED.test(name)) : CLONED;
  for (const name of wanted) {
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
  const document = parseDocument(config);
  if (document.errors.length > 0 || !isMap(document.contents)) return;
  const sections = document.contents.items
    .map((pair) => String(pair.key))
    .filter((name) => CHANNEL_SECTION.test(name));
  for (const name of sections) document.delete(name);
  if (sections.length > 0) await writeFileAtomic(target.configPath, document.toString({ lineWidth: 0 }), {});
}

async function names(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return false;
    throw error;
  }
}
