import type { AccessMode } from "./access-mode.ts";
import type { Client } from "./client.ts";
import { SIGN_IN_MS } from "./sign-in-store.ts";

/** The name contains the port, because browsers send a cookie to all ports of a host. */
const plainName = (port: number): string => `hermes_${port}`;

/** Browsers refuse a name with these prefixes unless the cookie is secure, and `__Host-` also below a path. */
function cookieName({ isSecure, prefix }: Client, plain: string): string {
  if (!isSecure) return plain;
  return `${prefix === "" ? "__Host-" : "__Secure-"}${plain}`;
}

/** The `Set-Cookie` header that stores a sign-in, or removes it if the token is empty. */
export function writeCookie(
  token: string,
  client: Client,
  { port, access }: { readonly port: number; readonly access: Pick<AccessMode, "provider"> },
): string {
  return [
    `${cookieName(client, plainName(port))}=${token}`,
    `Path=${client.prefix || "/"}`,
    `Max-Age=${token === "" ? 0 : SIGN_IN_MS / 1_000}`,
    "HttpOnly",
    // The page that a provider sends the browser back to comes from another site.
    access.provider === undefined ? "SameSite=Strict" : "SameSite=Lax",
    ...(client.isSecure ? ["Secure"] : []),
  ].join("; ");
}

/** The tokens in a `Cookie` header that may be ours. Over HTTPS, only names that require HTTPS count. */
export function readCookies(header: string | null, client: Client, port: number): readonly string[] {
  return readNamed(header, client, plainName(port));
}

const flowName = (port: number): string => `${plainName(port)}_oidc`;
const FLOW_SECONDS = 600;

/** The `Set-Cookie` header that remembers a sign-in with a provider that has started. */
export function writeFlowCookie(id: string, client: Client, port: number): string {
  return [
    `${cookieName(client, flowName(port))}=${id}`,
    `Path=${client.prefix || "/"}`,
    `Max-Age=${id === "" ? 0 : FLOW_SECONDS}`,
    "HttpOnly",
    "SameSite=Lax",
    ...(client.isSecure ? ["Secure"] : []),
  ].join("; ");
}

export const clearFlowCookie = (client: Client, port: number): string => writeFlowCookie("", client, port);

export function readFlowCookie(header: string | null, client: Client, port: number): readonly string[] {
  return readNamed(header, client, flowName(port));
}

function readNamed(header: string | null, { isSecure }: Client, plain: string): readonly string[] {
  const names = [`__Host-${plain}`, `__Secure-${plain}`];
  if (!isSecure) names.push(plain); // a proxy that does not state its scheme looks like plain HTTP
  return (header ?? "").split(";").flatMap((pair) => {
    const [name = "", value = ""] = pair.trim().split("=", 2);
    return names.includes(name) && /^[\w-]{20,100}$/.test(value) ? [value] : [];
  });
}
