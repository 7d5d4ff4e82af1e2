/** Commands in a text that would run as another profile without `-p`. Help pages do not depend on the profile. */
const COMMANDS = /`hermes (?!-p |profile |help |[^`]*--help`)/g;

/** `-p PROFILE ` for a command that is suggested to the user, if the user chose the profile with this flag. */
export function profileFlag(profile: string | undefined): string {
  return profile === undefined ? "" : `-p ${profile} `;
}

/** Adds the flag to the commands in a text, so that they run as written. */
export function withProfileFlag(text: string, profile: string | undefined): string {
  return text.replace(COMMANDS, () => `\`hermes ${profileFlag(profile)}`);
}
