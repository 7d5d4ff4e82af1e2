import type { Client } from "./client.ts";
import { SIGN_IN_MS } from "./sign-in-store.ts";

/** The name contains the port, because browsers send a cookie to all ports of a host. */
const plainName = (port: number): string => `hermes_${port}`;

/** Browsers refuse a name with these prefixes unless the cookie is secure, and `__Host-` also below a path. */
function cookieName({ isSecure, prefix }: Client, port: number): string {
  if (!isSecure) return plainName(port);
  return `${prefix === "" ? "__Host-" : "__Secure-"}${plainName(port)}`;
}

/** The `Set-Cookie` header that stores a sign-in, or removes it if the token is empty. */
export function writeCookie(token: string, client: Client, port: number): string {
  return [
    `${cookieName(client, port)}=${token}`,
    `Path=${client.prefix || "/"}`,
    `Max-Age=${token === "" ? 0 : SIGN_IN_MS / 1_000}`,
    "HttpOnly",
    "SameSite=Strict",
    ...(client.isSecure ? ["Secure"] : []),
  ].join("; ");
}

/** The tokens in a `Cookie` header that may be ours. Over HTTPS, only names that require HTTPS count. */
export function readCookies(header: string | null, { isSecure }: Client, port: number): readonly string[] {
  const names = [`__Host-${plainName(port)}`, `__Secure-${plainName(port)}`];
  if (!isSecure) names.push(plainName(port)); // a proxy that does not state its scheme looks like plain HTTP
  return (header ?? "").split(";").flatMap((pair) => {
    const [name = "", value = ""] = pair.trim().split("=", 2);
    return names.includes(name) && /^[\w-]{20,100}$/.test(value) ? [value] : [];
  });
}
