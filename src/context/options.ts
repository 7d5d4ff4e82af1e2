import { z } from "zod";

/** Section `security`: what may be fetched. */
export const securityOptions = z.strictObject({
  allow_private_urls: z.boolean().default(false).meta({
    description:
      "Whether addresses of this machine and of local networks may be fetched, for instance with @url:http://localhost:8080",
  }),
});
