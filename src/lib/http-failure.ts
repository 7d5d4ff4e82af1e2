import { AppError, errnoOf, messageOf } from "./errors.ts";

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: "the connection was closed before the answer came",
  EPIPE: "the connection was closed before the answer came",
  UND_ERR_SOCKET: "the connection was closed before the answer came",
  EHOSTUNREACH: "there is no way to that host",
  ENETUNREACH: "there is no way to that network",
  ETIMEDOUT: "the connection took too long",
  UND_ERR_CONNECT_TIMEOUT: "the connection took too long",
  UND_ERR_HEADERS_TIMEOUT: "the answer took too long",
  EPROTO: "the other side does not speak TLS as expected",
  ERR_SSL_WRONG_VERSION_NUMBER: "the other side does not speak TLS; is it http instead of https?",
  ERR_SSL_PACKET_LENGTH_TOO_LONG: "the other side does not speak TLS; is it http instead of https?",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is made out to another name",
  CERT_HAS_EXPIRED: "its certificate has expired",
  CERT_NOT_YET_VALID: "its certificate is not valid yet; is the clock right?",
};

/** Where neither the network nor a proxy is to blame. */
const HINTS: Readonly<Record<string, string>> = {
  ERR_SSL_WRONG_VERSION_NUMBER: "Write the address with http:// if the server has no certificate.",
  ERR_SSL_PACKET_LENGTH_TOO_LONG: "Write the address with http:// if the server has no certificate.",
  ERR_TLS_CERT_ALTNAME_INVALID:
    "Use the name that its certificate is made out to, or check who answers there.",
  CERT_HAS_EXPIRED: "Its operator must renew the certificate; check the clock of this machine too.",
  CERT_NOT_YET_VALID: "Set the clock of this machine.",
};

const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?$/;

const UNTRUSTED = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

/** What to do when a proxy wants credentials. */
export const PROXY_CREDENTIALS_HINT =
  "Give the proxy its user name and password in HTTPS_PROXY or HTTP_PROXY, as http://NAME:PASSWORD@HOST:PORT with special characters percent-encoded; NO_PROXY names hosts that need no proxy.";

/** Whether a proxy refused a request because of the credentials that it wants for itself. */
export function isProxyRefusal(error: unknown): boolean {
  return /\(407\)/.test(messageOf(rootCause(error)));
}

/** What a failed request met, in words that name hosts but neither credentials nor the query of an address. */
export function httpFailure(
  error: unknown,
  { host, proxyHost, caKey }: { host: string; proxyHost: string | undefined; caKey: string | undefined },
): AppError {
  const cause = rootCause(error);
  const through = proxyHost === undefined ? "" : ` through the proxy ${proxyHost}`;
  const code = errnoOf(cause) ?? "";
  if (proxyHost !== undefined && isProxyRefusal(cause)) {
    const why = "the proxy wants a user name and password that it accepts (407)";
    const message = `Cannot reach ${host}${through}: ${why}.`;
    return new AppError("http-failed", message, { hint: PROXY_CREDENTIALS_HINT, cause });
  }
  const reason = reasonOf(cause, code);
  const message = `Cannot reach ${host}${through}: ${reason}${reason.endsWith("?") ? "" : "."}`;
  const isRefusedHere = code === "ECONNREFUSED" && proxyHost === undefined && LOOPBACK.test(host);
  const known = isRefusedHere ? "Is the server running, and is it this port?" : HINTS[code];
  if (known !== undefined) return new AppError("http-failed", message, { hint: known, cause });
  if (!UNTRUSTED.has(code)) return new AppError("http-failed", message, { cause });
  const place = caKey === undefined ? "the setting for CA files" : `\`${caKey}\``;
  const hint = `If you trust it, put the path of its certificate authority (a PEM file) into ${place} or SSL_CERT_FILE.`;
  return new AppError("http-failed", message, { hint, cause });
}

function reasonOf(cause: unknown, code: string): string {
  if (UNTRUSTED.has(code)) return `its certificate is not trusted (${code})`;
  if (code === "ENOTFOUND" || code === "EAI_AGAIN")
    return `the name ${nameAskedFor(cause)} was not found (${code})`;
  return REASONS[code] ?? (messageOf(cause).replace(/\.$/, "") || code || "the request failed");
}

/** What happened is wrapped once or twice, depending on when it happened. */
function rootCause(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? rootCause(error.cause) : error;
}

function nameAskedFor(cause: unknown): string {
  return cause instanceof Error && "hostname" in cause ? String(cause.hostname) : "of the host";
}
