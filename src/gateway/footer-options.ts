import { z } from "zod";

export const FOOTER_FIELDS = ["model", "context_pct", "cwd"] as const;

/** Setting `display.runtime_footer`: a last line of answers in chats on platforms. */
export const runtimeFooterOptions = z.strictObject({
  enabled: z.boolean().default(false).meta({
    description: "Whether answers on messaging platforms end with a line about the model and its context",
  }),
  fields: z
    .array(z.enum(FOOTER_FIELDS))
    .default([...FOOTER_FIELDS])
    .meta({ description: "What that line shows, in this order" }),
});
export type RuntimeFooterOptions = z.infer<typeof runtimeFooterOptions>;
