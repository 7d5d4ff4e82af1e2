const EXTENSIONS =
  /\.(?:[cm]?[jt]sx?|pyi?|rb|go|rs|java|kts?|scala|c|cc|cpp|cxx|h|hh|hpp|cs|fs|swift|mm?|php|pl|pm|lua|dart|exs?|erl|hrl|hs|cljs?|elm|vue|svelte|astro|html?|css|s[ac]ss|less|groovy|gradle|zig|nim|jl|r|proto|graphql)$/i;
/** Files of translations: `password: Passwort` in them is no secret. */
const TRANSLATIONS = /(?:^|\/)(?:locales?|i18n|l10n|lang|translations?)\//i;

/**
 * Whether a file is source code, where `token = next` and `password: string` are code. In every other file, such as
 * settings, scripts, logs and notes, `PASSWORD=hunter2` is a credential.
 */
export function isSourceCode(path: string): boolean {
  return EXTENSIONS.test(path) || TRANSLATIONS.test(path);
}
