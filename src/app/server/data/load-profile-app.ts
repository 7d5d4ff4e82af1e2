import { type App, openApp } from "../../app.ts";

/** Loads a profile of the home with its current settings. Throws `profile-not-found`. */
export type LoadProfileApp = (profile: string) => Promise<App>;

export function createProfileLoader(app: App): LoadProfileApp {
  const { root } = app.profile;
  return async (profile) => {
    if (profile === app.profile.name) return { ...app, resolved: await app.reload() };
    const { variables, userHome } = app;
    return await openApp({ profile, variables: { ...variables, HERMES_HOME: root }, userHome });
  };
}
