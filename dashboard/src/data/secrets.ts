import type { Api } from "./api.ts";

const pathOf = (profile: string, variable: string): string =>
  `profiles/${encodeURIComponent(profile)}/keys/${encodeURIComponent(variable)}`;

/** Stores a secret of a profile under its variable. No request ever reads it. */
export const storeSecret = (
  api: Api,
  { profile, variable, isReplaced }: { profile: string; variable: string; isReplaced: boolean },
  value: string,
): Promise<void> => api.send("PUT", pathOf(profile, variable), { value, replace: isReplaced });

export const removeSecret = (api: Api, profile: string, variable: string): Promise<void> =>
  api.send("DELETE", pathOf(profile, variable));

export const testSecretPath = (profile: string, variable: string): string =>
  `${pathOf(profile, variable)}/test`;
