import type { z } from "zod";
import { modelOptions, providersOption } from "../../src/providers/options.ts";
import type { RouteSettings } from "../../src/providers/routes/choose-provider.ts";

/** Settings that are all stored in one file, including the key. */
export function storedSettings(
  model: z.input<typeof modelOptions> = {},
  providers: z.input<typeof providersOption> = {},
): RouteSettings {
  const parsed = modelOptions.parse(model);
  const address = parsed.base_url;
  return {
    model: parsed,
    providers: providersOption.parse(providers),
    modelAddress: { stored: address, ofKey: address, ofRun: "" },
  };
}
