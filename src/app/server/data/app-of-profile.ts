import { type App, openApp } from "../../app.ts";

/** Loads a profile of the home with its current settings. Throws `profile-not-found`. */
export type AppOfProfile = (profile: string) => Promise<App>;

/** Only the profile that the server was started with has the flags of its command line. */
export function createAppOfProfile(app: App): AppOfProfile {
  const { variables, userHome } = app;
  return async (profile) =>
    profile === app.profile.name
      ? { ...app, resolved: await app.reload() }
      : await openApp({ profile, variables: { ...variables, HERMES_HOME: app.profile.root }, userHome });
}
