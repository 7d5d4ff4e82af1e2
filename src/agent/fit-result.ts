import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { messageOf } from "../lib/errors.ts";
import { ensurePrivateFolder, writeFileAtomic } from "../lib/files.ts";

const MOST_CHARS = 100_000;
const PREVIEW_CHARS = 8_000;

/** Results longer than the model may get go to a file under `cache/spillover`; the model gets the beginning and the path. */
export function createResultFitter(home: string): (text: string, tool: string) => Promise<string> {
  return async (text, tool) => {
    if (text.length <= MOST_CHARS) return text;
    const preview = text.slice(0, PREVIEW_CHARS);
    const said = `[The result of ${tool} has ${text.length} characters; these are the first ${PREVIEW_CHARS}.`;
    try {
      const folder = join(home, "cache", "spillover");
      await ensurePrivateFolder(folder);
      const path = join(folder, `${tool}-${Date.now()}-${randomBytes(4).toString("hex")}.txt`);
      await writeFileAtomic(path, text, { mode: 0o600 });
      return `${preview}\n${said} All of it is in ${path} on the user's machine.]`;
    } catch (error) {
      return `${preview}\n${said} The rest could not be saved: ${messageOf(error)}]`;
    }
  };
}
