import { posix } from "node:path";

/** Folders of credentials wherever they lie: each user has them, and so has each sandbox. */
const FOLDERS = /\/(?:\.ssh|\.aws|\.gnupg|\.kube|\.docker\/config\.json)(?:\/|$)/;
const FILES = /\/(?:\.netrc|\.envrc|\.env(?:\..*)?)$|^\/etc\/(?:sudoers(?:\.d(?:\/|$)|$)|g?shadow-?$)/;
/** Files that by custom show only the names of what belongs into the real one. */
const EXAMPLES = /\/\.env\.(?:example|sample|template|dist)$/;
/** Below the profile's own home. */
const OWN = ["auth.json", "mcp-tokens", "pairing"];

/** Whether a file, by where it really lies, holds credentials: its content is neither shown nor changed by file tools. */
export function holdsCredentials(path: string, home: string): boolean {
  if (EXAMPLES.test(path)) return false;
  if (FOLDERS.test(path) || FILES.test(path)) return true;
  return OWN.some((name) => {
    const own = posix.join(home, name);
    return path === own || path.startsWith(`${own}/`);
  });
}

/** Words for the model. There is no way round this, so none is named. */
export function credentialRefusal(path: string): string {
  return `${path} may hold credentials, which file tools neither show nor change. Say what you need from it.`;
}
