import manifest from "../package.json" with { type: "json" };

/** The version people see; package.json is the only place that states it. */
export const VERSION: string = manifest.version;
