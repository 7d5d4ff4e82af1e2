import { generateKeyPairSync, randomUUID } from "node:crypto";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { Provider } from "oidc-provider";

/**
 * The OpenID Connect provider of npm on a free port, with its own pages, on which any name and password sign in. The name
 * is the subject, and the part before `@` of the address.
 */
export async function openRealOidc() {
  let handle: RequestListener = (_, response) => void response.writeHead(503).end();
  const server = createServer((request, response) => handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return {
    issuer,
    /** Makes a dashboard known to the provider; until then it answers with status 503. */
    addDashboard(url: string, client: { readonly client_id: string; readonly client_secret: string }): void {
      const provider = new Provider(issuer, {
        clients: [
          {
            ...client,
            redirect_uris: [`${url}/api/oidc/back`],
            token_endpoint_auth_method: "client_secret_post",
          },
        ],
        claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
        cookies: { keys: [randomUUID()] },
        ttl: { Interaction: 600, Session: 600, Grant: 600, AccessToken: 600, IdToken: 600 }, // unset ones print notices
        jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), kid: "one", use: "sig", alg: "RS256" }] },
        findAccount: (_: unknown, id: string) => ({
          accountId: id,
          claims: () => ({ sub: id, name: id, email: `${id}@example.org`, email_verified: true }),
        }),
      });
      handle = provider.callback();
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
