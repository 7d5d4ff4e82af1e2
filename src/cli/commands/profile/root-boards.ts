import type { NamingSetting } from "../../../app/profiles/profile-references.ts";
import type { FailedVisit } from "../../../board/registry/visit-boards.ts";

export function failureRow({ board, error }: FailedVisit) {
  return { board: board ?? null, error: error.message };
}

export function describeSetting({ profile, key }: NamingSetting, name: string): string {
  return `  The setting ${key} of ${profile} still names ${name}; change it with \`hermes -p ${profile} config set ${key} VALUE\`.`;
}
