import { type App, openApp } from "../../app.ts";

/** Loads a profile of the home with its current settings; throws `profile-not-found`. */
export type LoadProfile = (profile: string) => Promise<App>;

export function createLoadProfile(app: App): LoadProfile {
  const { variables, userHome } = app;
  return async (profile) => {
    if (profile === app.profile.name) return { ...app, resolved: await app.reload() };
    return await openApp({ profile, variables: { ...variables, HERMES_HOME: app.profile.root }, userHome });
  };
}
