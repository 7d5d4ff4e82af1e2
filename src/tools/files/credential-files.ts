import { posix } from "node:path";

/** Credential folders below any parent folder, because every user and every sandbox has its own. */
const FOLDERS = /\/(?:\.ssh|\.aws|\.gnupg|\.kube|\.docker\/config\.json)(?:\/|$)/;
const FILES = /\/(?:\.netrc|\.envrc|\.env(?:\..*)?)$|^\/etc\/(?:sudoers(?:\.d(?:\/|$)|$)|g?shadow-?$)/;
/** Templates that by convention contain only names, no values. */
const EXAMPLES = /\/\.env\.(?:example|sample|template|dist)$/;
/** Relative to the profile's home. */
const OWN = ["auth.json", "mcp-tokens", "pairing"];

/** Whether a file, given by its real path, holds credentials; file tools neither show nor change such files. */
export function isCredentialFile(path: string, home: string): boolean {
  if (EXAMPLES.test(path)) return false;
  if (FOLDERS.test(path) || FILES.test(path)) return true;
  return OWN.some((name) => {
    const own = posix.join(home, name);
    return path === own || path.startsWith(`${own}/`);
  });
}

/** The refusal for the model. It names no workaround, because there is none. */
export function formatCredentialRefusal(path: string): string {
  return `${path} may hold credentials, which file tools neither show nor change. Tell the user what you need from it.`;
}

const EXTENSIONS =
  /\.(?:[cm]?[jt]sx?|pyi?|rb|go|rs|java|kts?|scala|c|cc|cpp|cxx|h|hh|hpp|cs|fs|swift|mm?|php|pl|pm|lua|dart|exs?|erl|hrl|hs|cljs?|elm|vue|svelte|astro|html?|css|s[ac]ss|less|groovy|gradle|zig|nim|jl|r|proto|graphql)$/i;
/** Translation files, where `password: Passwort` is a translation and not a secret. */
const TRANSLATIONS = /(?:^|\/)(?:locales?|i18n|l10n|lang|translations?)\//i;

/**
 * Whether a file is source code, where `token = next` and `password: string` are code. In every other file, such as
 * settings, scripts, logs and notes, `PASSWORD=hunter2` is a credential.
 */
export function isSourceCode(path: string): boolean {
  return EXTENSIONS.test(path) || TRANSLATIONS.test(path);
}
