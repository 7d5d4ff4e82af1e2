import { z } from "zod";
import { platformOptions } from "../common-options.ts";

/** Section `platforms.scripted`: a service that a test plays. */
export const scriptedOptions = platformOptions("SCRIPTED", {
  address: z
    .string()
    .default("")
    .meta({ description: "Socket of a scripted messaging service, for tests without a network" }),
  account: z.string().default("bot").meta({ description: "Name of our account on that service" }),
});
export type ScriptedOptions = z.infer<typeof scriptedOptions>;
