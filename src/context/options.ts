import { z } from "zod";

/** Section `security`: what may be fetched and shown to the model, and where files may be changed. */
export const securityOptions = z.strictObject({
  allow_private_urls: z.boolean().default(false).meta({
    description:
      "Whether addresses of this machine and of local networks may be fetched, for instance with @url:http://localhost:8080",
  }),
  redact_secrets: z.boolean().default(true).meta({
    description:
      "Whether text that looks like a secret is hidden from the model. Values that Hermes knows to be secret, such as those in .env, always are",
  }),
  write_safe_root: z
    .string()
    .refine((text) => text.split(":").every((folder) => /^(?:$|\/|~\/|~$)/.test(folder)), {
      error: "must list absolute folders, separated by colons",
    })
    .default("")
    .meta({
      env: "HERMES_WRITE_SAFE_ROOT",
      description:
        "The only folders in which file tools change files, separated by colons; empty allows all. Commands are not limited by it",
    }),
});

export type SecurityOptions = z.infer<typeof securityOptions>;
