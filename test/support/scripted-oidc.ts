import { createHash, generateKeyPairSync, type KeyObject, randomUUID, sign } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

export interface OidcScript {
  /** Changes the claims of the ID token. */
  claims?: Readonly<Record<string, unknown>>;
  /** Signs with a key that the provider does not publish. */
  isForged?: boolean;
  /** Signs nothing (`alg: none`). */
  isUnsigned?: boolean;
  /** The status of every answer. */
  status?: number;
}

export const OIDC_CLIENT = { client_id: "hermes", client_secret: "a secret between the two" };

/**
 * An OpenID Connect provider that signs everybody in at once, for faults that a real provider does not have. It checks the
 * code, the secret of the client and the PKCE verifier.
 */
export async function openScriptedOidc() {
  const own = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const other = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const codes = new Map<
    string,
    { readonly nonce: string; readonly challenge: string; readonly redirectUri: string }
  >();
  const script: OidcScript = {};
  let issuer = "";

  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? "", issuer);
    const reply = (status: number, body: object): void => {
      response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
    };
    if (script.status !== undefined) return reply(script.status, { error: "server_error" });
    if (url.pathname === "/.well-known/openid-configuration")
      return reply(200, {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/keys`,
        response_types_supported: ["code"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: ["RS256"],
      });
    if (url.pathname === "/keys")
      return reply(200, {
        keys: [{ ...own.publicKey.export({ format: "jwk" }), kid: "own", use: "sig", alg: "RS256" }],
      });
    const form = new URLSearchParams(await readText(request));
    const known = codes.get(form.get("code") ?? "");
    codes.delete(form.get("code") ?? "");
    const challenge = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    const isRight =
      form.get("client_secret") === OIDC_CLIENT.client_secret &&
      form.get("redirect_uri") === known?.redirectUri &&
      challenge === known?.challenge;
    if (known === undefined || !isRight) return reply(400, { error: "invalid_grant" });
    const now = Math.floor(Date.now() / 1_000);
    const claims = {
      ...{
        iss: issuer,
        aud: OIDC_CLIENT.client_id,
        sub: "user-1",
        nonce: known.nonce,
        iat: now,
        exp: now + 60,
      },
      ...{ name: "Alice", email: "alice@example.org", email_verified: true },
      ...script.claims,
    };
    reply(200, {
      access_token: randomUUID(),
      token_type: "Bearer",
      id_token: createToken(claims, script.isForged ? other.privateKey : own.privateKey, script.isUnsigned),
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    issuer,
    script,
    /** What the provider's page does: gives the browser a code, and the address to go back to. */
    authorize(address: string): URL {
      const { searchParams: asked } = new URL(address);
      const code = randomUUID();
      const redirectUri = asked.get("redirect_uri") ?? "";
      codes.set(code, {
        nonce: asked.get("nonce") ?? "",
        challenge: asked.get("code_challenge") ?? "",
        redirectUri,
      });
      const back = new URL(redirectUri);
      back.search = new URLSearchParams({ code, state: asked.get("state") ?? "" }).toString();
      return back;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function createToken(claims: object, key: KeyObject, isUnsigned = false): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const head = isUnsigned ? { alg: "none" } : { alg: "RS256", kid: "own" };
  const content = `${part(head)}.${part(claims)}`;
  return `${content}.${isUnsigned ? "" : sign("sha256", Buffer.from(content), key).toString("base64url")}`;
}

async function readText(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text;
}
