import manifest from "../package.json" with { type: "json" };

/** The version that users see; only package.json states it. */
export const VERSION: string = manifest.version;
