import { z } from "zod";
import { PLATFORM_NAMES, PLATFORMS, type PlatformName } from "./platforms/platform-registry.ts";

type PlatformShape = {
  [Name in PlatformName]: z.ZodPrefault<(typeof PLATFORMS)[Name]["options"]>;
};

/** Section `platforms`: one section for each messaging service. */
export const platformsOptions = z.strictObject(
  Object.fromEntries(
    PLATFORM_NAMES.map((name) => [name, (PLATFORMS[name].options as z.ZodObject).prefault({})]),
  ) as unknown as PlatformShape,
);
