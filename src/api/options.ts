import { isIP } from "node:net";
import { z } from "zod";

/** As `hashPassword` writes it. */
const PASSWORD_HASH = /^scrypt\$16384\$8\$1\$[\w-]{22}\$[\w-]{43}$/;

const network = z
  .string()
  .trim()
  .refine((entry) => isNetwork(entry), "is neither an address nor a network such as 10.0.0.0/8");

/** Section `api_server`: the HTTP API of `hermes gateway run`. */
export const apiServerOptions = z.strictObject({
  enabled: z.boolean().nullable().default(null).meta({
    description: "Whether the gateway serves the API; unset means only while no messaging platform is set up",
    env: "API_SERVER_ENABLED",
  }),
  host: z.string().min(1).default("127.0.0.1").meta({
    description: "Address that the API listens on; every request needs a key on every address",
    env: "API_SERVER_HOST",
  }),
  port: z.int().min(0).max(65_535).default(8642).meta({
    description: "Port that the API listens on; 0 means any free port",
    env: "API_SERVER_PORT",
  }),
  key: z.string().default("").meta({
    description: "Key with every scope, of at least 32 characters; generated into .env at the first start",
    secret: true,
    env: "API_SERVER_KEY",
  }),
  cors_origins: z.string().default("").meta({
    description: "Web pages that may call the API from a browser: origins separated by commas",
    env: "API_SERVER_CORS_ORIGINS",
  }),
  model_name: z.string().default("").meta({
    description: "Name of the model that clients see; empty means the name of the profile",
    env: "API_SERVER_MODEL_NAME",
  }),
  max_concurrent_runs: z.int().min(0).default(10).meta({
    description: "Turns of the API that run at once, further ones get status 429; 0 means no limit",
  }),
  direct_model_requests: z.boolean().default(false).meta({
    description: "Whether clients may name any model instead of those that the API lists",
  }),
  model_routes: z.record(z.string().min(1), z.string().min(1)).default({}).meta({
    description: "Further models that the API lists: the name that clients see, and the model that answers",
  }),
});

export type ApiServerOptions = z.infer<typeof apiServerOptions>;

/** Section `dashboard`: the web dashboard of `hermes dashboard`. */
export const dashboardOptions = z.strictObject({
  enabled: z.boolean().default(false).meta({
    description: "Whether `hermes gateway run` also serves the dashboard",
  }),
  host: z.string().min(1).default("127.0.0.1").meta({
    description: "Address that the dashboard listens on",
  }),
  port: z.int().min(0).max(65_535).default(9119).meta({
    description: "Port that the dashboard listens on; 0 means any free port",
  }),
  public_url: z
    .union([
      z.literal(""),
      z
        .url({ protocol: /^https?$/ })
        .refine((url) => !isOwnPath(url), "has a path that the dashboard itself uses"),
    ])
    .default("")
    .meta({
      description: "Address at which browsers see the dashboard behind a proxy, with its path",
    }),
  allowed_hosts: z.array(z.string().trim().min(1)).default([]).meta({
    description: "Further host names by which browsers may reach the dashboard, with or without a port",
  }),
  basic_auth: z
    .strictObject({
      username: z.string().trim().min(1).default("admin").meta({
        description: "Name with which one signs in with the password",
      }),
      password: z
        .union([z.literal(""), z.string().min(12).max(1_000)])
        .default("")
        .meta({
          description:
            "Password that signs in, of at least 12 characters; required where others can reach the dashboard",
          secret: true,
        }),
      password_hash: z
        .union([z.literal(""), z.string().regex(PASSWORD_HASH)])
        .default("")
        .meta({
          description:
            "Hash of the password instead of the password itself, as `hermes dashboard password` stores it",
          secret: true,
        }),
    })
    .prefault({}),
  oidc: z
    .strictObject({
      issuer: z
        .union([z.literal(""), z.url({ protocol: /^https?$/ })])
        .default("")
        .refine(isPrivateUrl, "must begin with https://, except on this machine")
        .meta({
          description: "Address of an OpenID Connect provider that signs people in; links are off then",
        }),
      client_id: z.string().trim().default("").meta({
        description: "Name of this dashboard at the provider",
      }),
      client_secret: z.string().default("").meta({
        description: "Secret of this dashboard at the provider; empty for a public client",
        secret: true,
      }),
      allowed_users: z.array(z.string().trim().min(1)).default([]).meta({
        description:
          "Who may sign in: verified e-mail addresses or subjects of the provider; `*` means everybody whom it signs in",
      }),
    })
    .refine(
      ({ issuer, client_id, allowed_users }) =>
        issuer === "" || (client_id !== "" && allowed_users.length > 0),
      "needs client_id and allowed_users",
    )
    .prefault({}),
  insecure: z.boolean().default(false).meta({
    description: "Whether everybody who reaches the dashboard may read everything in it, without signing in",
  }),
  trusted_proxies: z.array(network).default([]).meta({
    description: "Addresses or networks of proxies whose X-Forwarded headers count",
  }),
});

export type DashboardOptions = z.infer<typeof dashboardOptions>;
export type OidcOptions = DashboardOptions["oidc"];

/** Plain HTTP is allowed only within this machine. */
function isPrivateUrl(url: string): boolean {
  if (!url.startsWith("http:")) return true;
  return URL.canParse(url) && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(url).hostname);
}

/** A proxy that removes the path must not leave one that begins with it. */
function isOwnPath(url: string): boolean {
  return URL.canParse(url) && /^\/(?:api|assets)(?:\/|$)/.test(new URL(url).pathname);
}

function isNetwork(entry: string): boolean {
  const [address = "", bits, ...rest] = entry.split("/");
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  const most = version === 6 ? 128 : 32;
  return bits === undefined || (/^[1-9]\d{0,2}$/.test(bits) && Number(bits) <= most);
}
