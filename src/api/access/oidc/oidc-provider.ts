import type { Configuration } from "openid-client";
import { messageOf } from "../../../lib/errors.ts";
import type { OidcOptions } from "../../options.ts";
import { isLoopback } from "../client.ts";

/** Why the provider did not sign somebody in. */
export type OidcProblem = "denied" | "not-allowed" | "expired" | "invalid" | "unreachable";

/** A sign-in with the provider that failed. */
export class OidcError extends Error {
  override readonly name = "OidcError";
  readonly problem: OidcProblem;

  constructor(problem: OidcProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.problem = problem;
  }
}

/** What the browser must bring back, and what proves that the answer belongs to the request. */
export interface OidcSecrets {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  /** Where the provider sends the browser back to. */
  readonly redirectUri: string;
}

export interface OidcAccount {
  /** The display name. */
  readonly name: string;
}

/** An OpenID Connect provider, used with the code flow and PKCE. */
export interface OidcProvider {
  /** The host name, for the button. */
  readonly name: string;
  /** Returns the address of the provider's page. Throws `OidcError`. */
  start(
    redirectUri: string,
    signal: AbortSignal,
  ): Promise<{ readonly url: URL; readonly secrets: OidcSecrets }>;
  /** Exchanges the code in an answer of the provider, with all checks. Throws `OidcError`. */
  finish(answer: URLSearchParams, secrets: OidcSecrets, signal: AbortSignal): Promise<OidcAccount>;
}

const WITHIN_MS = 10_000;
/** After this time the provider's addresses and keys are read again. */
const KNOWN_FOR_MS = 10 * 60_000;
const MAX_NAME = 100;
/** Everybody whom the provider signs in. */
const EVERYBODY = "*";

/** The library is loaded at the first use, because most dashboards have no provider. */
export function createOidcProvider(options: OidcOptions): OidcProvider {
  const issuer = new URL(options.issuer);
  let known: { readonly config: Configuration; readonly at: number } | undefined;

  const connect = async (): Promise<Configuration> => {
    if (known !== undefined && performance.now() - known.at < KNOWN_FOR_MS) return known.config;
    const client = await import("openid-client");
    const config = await client.discovery(
      issuer,
      options.client_id,
      undefined,
      options.client_secret === "" ? client.None() : client.ClientSecretPost(options.client_secret),
      {
        [client.customFetch]: fetchFromProvider,
        // Without this, the signature of a token that came over TLS would not be checked.
        execute: [
          client.enableNonRepudiationChecks,
          ...(isPlain(issuer) ? [client.allowInsecureRequests] : []),
        ],
      },
    );
    known = { config, at: performance.now() };
    return config;
  };

  return {
    name: issuer.host,
    async start(redirectUri, signal) {
      const client = await import("openid-client");
      try {
        const config = await connect();
        signal.throwIfAborted();
        const verifier = client.randomPKCECodeVerifier();
        const secrets = { state: client.randomState(), nonce: client.randomNonce(), verifier, redirectUri };
        const url = client.buildAuthorizationUrl(config, {
          redirect_uri: redirectUri,
          scope: "openid profile email",
          state: secrets.state,
          nonce: secrets.nonce,
          code_challenge: await client.calculatePKCECodeChallenge(verifier),
          code_challenge_method: "S256",
        });
        return { url, secrets };
      } catch (error) {
        throw toOidcError(error);
      }
    },
    async finish(answer, { state, nonce, verifier, redirectUri }, signal) {
      const client = await import("openid-client");
      try {
        const config = await connect();
        const url = new URL(`${redirectUri}?${answer}`);
        const tokens = await client.authorizationCodeGrant(config, url, {
          ...{ expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier },
          idTokenExpected: true,
        });
        signal.throwIfAborted();
        const claims = tokens.claims();
        if (claims === undefined) throw new OidcError("invalid", "the answer has no ID token");
        const needsMore =
          claims["email"] === undefined && config.serverMetadata().userinfo_endpoint !== undefined;
        const more = needsMore ? await client.fetchUserInfo(config, tokens.access_token, claims.sub) : {};
        const account = readAccount({ ...more, ...claims });
        if (isAllowed(account, options.allowed_users)) return { name: account.name };
        throw new OidcError("not-allowed", `${account.name} may not use this dashboard`);
      } catch (error) {
        throw toOidcError(error);
      }
    },
  };
}

/** Plain HTTP never leaves this machine. */
const isPlain = ({ protocol, hostname }: URL): boolean => protocol === "http:" && isLoopback(hostname);

interface Account {
  readonly subject: string;
  /** Only if the provider has verified it. */
  readonly email: string | undefined;
  readonly name: string;
}

function readAccount(claims: Readonly<Record<string, unknown>>): Account {
  const text = (name: string): string | undefined => {
    const value = claims[name];
    return typeof value === "string" && value !== "" ? value : undefined;
  };
  const subject = text("sub") ?? "";
  const email = claims["email_verified"] === true ? text("email") : undefined;
  const name = text("name") ?? text("preferred_username") ?? email ?? subject;
  return { subject, email, name: name.slice(0, MAX_NAME) };
}

function isAllowed({ subject, email }: Account, allowed: readonly string[]): boolean {
  return allowed.some(
    (entry) =>
      entry === EVERYBODY ||
      entry === subject ||
      (email !== undefined && entry.toLowerCase() === email.toLowerCase()),
  );
}

class UnreachableError extends Error {
  override readonly name = "UnreachableError";
}

/** Distinguishes a provider that does not work from one that refuses. */
async function fetchFromProvider(url: string, request: object): Promise<Response> {
  const signal = AbortSignal.timeout(WITHIN_MS);
  const response = await fetch(url, { ...request, signal, redirect: "manual" }).catch((cause: unknown) => {
    throw new UnreachableError(`${new URL(url).host} does not answer`, { cause });
  });
  if (response.status >= 500)
    throw new UnreachableError(`${new URL(url).host} answers with status ${response.status}`);
  return response;
}

function toOidcError(error: unknown): OidcError {
  if (error instanceof OidcError) return error;
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof UnreachableError)
      return new OidcError("unreachable", cause.message, { cause: error });
  const isDenied = error instanceof Error && "error" in error && error.error === "access_denied";
  return new OidcError(isDenied ? "denied" : "invalid", messageOf(error), { cause: error });
}
