const SETTINGS = /\.(?:ya?ml|json[c5]?|toml|ini|cfg|conf|config|properties|tfvars|env)$|(?:^|\/)\.env[^/]*$/i;
/** Texts for people, where `password: Passwort` is a translation. */
const TRANSLATIONS = /(?:^|\/)(?:locales?|i18n|l10n|lang|translations?)\//i;

/**
 * Whether a file holds settings, where `password: hunter2` is a credential. In the source code of a program it is
 * programming, and is shown.
 */
export function holdsSettings(path: string): boolean {
  return SETTINGS.test(path) && !TRANSLATIONS.test(path);
}
