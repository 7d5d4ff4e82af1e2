import { AppError, errnoOf, messageOf } from "../errors.ts";

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: "the connection was closed before the answer arrived",
  EPIPE: "the connection was closed before the answer arrived",
  UND_ERR_SOCKET: "the connection was closed before the answer arrived",
  EHOSTUNREACH: "there is no route to the host",
  ENETUNREACH: "there is no route to the network",
  ETIMEDOUT: "the connection timed out",
  UND_ERR_CONNECT_TIMEOUT: "the connection timed out",
  UND_ERR_HEADERS_TIMEOUT: "the server did not answer in time",
  EPROTO: "the TLS handshake with the server failed",
  ERR_SSL_WRONG_VERSION_NUMBER: "the server does not speak TLS; is it http instead of https?",
  ERR_SSL_PACKET_LENGTH_TOO_LONG: "the server does not speak TLS; is it http instead of https?",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another name",
  CERT_HAS_EXPIRED: "its certificate has expired",
  CERT_NOT_YET_VALID: "its certificate is not valid yet; is the clock right?",
};

/** Hints for failures that neither the network nor a proxy causes. */
const HINTS: Readonly<Record<string, string>> = {
  ERR_SSL_WRONG_VERSION_NUMBER: "Write the address with http:// if the server has no certificate.",
  ERR_SSL_PACKET_LENGTH_TOO_LONG: "Write the address with http:// if the server has no certificate.",
  ERR_TLS_CERT_ALTNAME_INVALID:
    "Use a name that its certificate covers, or check which server answers at this address.",
  CERT_HAS_EXPIRED:
    "The operator of the server must renew the certificate; also check the clock of this machine.",
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

export const PROXY_CREDENTIALS_HINT =
  "Give the proxy its user name and password in HTTPS_PROXY or HTTP_PROXY, as http://NAME:PASSWORD@HOST:PORT with special characters percent-encoded; NO_PROXY names hosts that need no proxy.";

const PROXY_REFUSAL_HINT =
  "Ask whoever runs the proxy to allow this host, name another proxy in HTTPS_PROXY, or name the host in NO_PROXY if it is reachable directly.";

/** The status with which a proxy refused a request, in undici's error messages with and without a tunnel. */
function proxyStatus(error: unknown): number | undefined {
  const [, status] = /^Proxy .* \((\d{3})\)/.exec(messageOf(rootCause(error))) ?? [];
  return status === undefined ? undefined : Number(status);
}

/** Whether a proxy refused a request for a permanent reason, such as wrong credentials or a forbidden host. */
export function isProxyRefusal(error: unknown): boolean {
  const status = proxyStatus(error);
  return status !== undefined && status >= 400 && status < 500;
}

/** Describes a failed request. The message names hosts, but neither credentials nor the query of a URL. */
export function createHttpFailure(
  error: unknown,
  { host, proxyHost, caKey }: { host: string; proxyHost: string | undefined; caKey: string | undefined },
): AppError {
  const cause = rootCause(error);
  const through = proxyHost === undefined ? "" : ` through the proxy ${proxyHost}`;
  const code = errnoOf(cause) ?? "";
  const status = proxyStatus(cause);
  if (proxyHost !== undefined && status !== undefined) {
    const [why, hint] =
      status === 407
        ? ["requires a valid user name and password", PROXY_CREDENTIALS_HINT]
        : status < 500
          ? ["refused the connection", PROXY_REFUSAL_HINT]
          : ["could not connect to it", undefined];
    const message = `Cannot reach ${host}${through}: the proxy ${why} (${status}).`;
    return new AppError("http-failed", message, { ...(hint !== undefined && { hint }), cause });
  }
  const reason = reasonOf(cause, code);
  const message = `Cannot reach ${host}${through}: ${reason}${reason.endsWith("?") ? "" : "."}`;
  const isRefusedHere = code === "ECONNREFUSED" && proxyHost === undefined && LOOPBACK.test(host);
  const specificHint = isRefusedHere
    ? "Check that the server is running and listens on this port."
    : HINTS[code];
  if (specificHint !== undefined) return new AppError("http-failed", message, { hint: specificHint, cause });
  if (!UNTRUSTED.has(code)) return new AppError("http-failed", message, { cause });
  const setting = caKey === undefined ? "the setting for CA files" : `\`${caKey}\``;
  const hint = `If you trust it, put the path of its certificate authority (a PEM file) into ${setting} or SSL_CERT_FILE.`;
  return new AppError("http-failed", message, { hint, cause });
}

function reasonOf(cause: unknown, code: string): string {
  if (UNTRUSTED.has(code)) return `its certificate is not trusted (${code})`;
  if (code === "ENOTFOUND" || code === "EAI_AGAIN")
    return `the name ${hostnameOf(cause)} was not found (${code})`;
  return REASONS[code] ?? (messageOf(cause).replace(/\.$/, "") || code || "the request failed");
}

/** Errors of undici are wrapped once or twice, depending on the phase of the request. */
export function rootCause(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? rootCause(error.cause) : error;
}

function hostnameOf(cause: unknown): string {
  return cause instanceof Error && "hostname" in cause ? String(cause.hostname) : "of the host";
}
