import { z } from "zod";
import { DASHBOARD_SCOPES } from "./scopes.ts";

/** How a browser can sign in here. `link`: with the link that a command prints; `oidc`: with an OpenID Connect provider. */
const SIGN_IN_WAYS = ["link", "password", "oidc"] as const;

export type SignInWay = (typeof SIGN_IN_WAYS)[number];

/**
 * Answer of `GET api/me`, the only one that a browser gets before it has signed in. Before sign-in, it says nothing about
 * accounts or data.
 */
export const meSchema = z.discriminatedUnion("signedIn", [
  z.strictObject({
    signedIn: z.literal(false),
    ways: z.array(z.enum(SIGN_IN_WAYS)),
    /** The host of the provider, for its button. */
    provider: z.string().optional(),
  }),
  z.strictObject({
    signedIn: z.literal(true),
    /** Names this sign-in: another value means that somebody has signed in anew. */
    id: z.string(),
    /** The display name of the user. */
    name: z.string(),
    scopes: z.array(z.enum(DASHBOARD_SCOPES)),
    /** Whether the gate is switched off, so that anybody who reaches the server can read; every page shows a warning. */
    insecure: z.boolean(),
    version: z.string(),
    /** The profile that the server was started with. */
    profile: z.string(),
  }),
]);

export type Me = z.infer<typeof meSchema>;

/** Body of `POST api/sign-in`. */
export const signInSchema = z.strictObject({
  name: z.string().min(1).max(200),
  password: z.string().min(1).max(1_000),
});

export type SignInBody = z.infer<typeof signInSchema>;

/** Body of `POST api/oidc/start`. `next`: the page to open after the sign-in; it is ignored unless it is a path of ours. */
export const oidcStartSchema = z.strictObject({ next: z.string().max(2_000).default("/") });

/** Answer of `POST api/oidc/start`: the address of the provider's page. */
export const oidcStartAnswerSchema = z.strictObject({ url: z.url() });

export type OidcStartAnswer = z.infer<typeof oidcStartAnswerSchema>;

/** Body of `POST api/enter`: the part after `#` of a one-time link. */
export const enterSchema = z.strictObject({ code: z.string().min(1).max(200) });

export type EnterBody = z.infer<typeof enterSchema>;
