/** Time limits of a request. The HTTP client has a separate time limit for connecting. */
export interface RequestTimeouts {
  /** The longest wait for the start of the answer, and between two pieces of it. */
  readonly staleMs: number;
  readonly requestMs: number;
}

const LOCAL_NAME = /^(?:localhost|.*\.(?:localhost|local|internal|lan|home\.arpa)|[^.:]+)$/i;
const PRIVATE_ADDRESS =
  /^(?:127\.|10\.|192\.168\.|169\.254\.|172\.(?:1[6-9]|2\d|3[01])\.|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|\[(?:::1?|f[cd][0-9a-f]{2}:.*|fe80:.*)\]$)/i;

/** Whether an address is on this machine or in a private network, where models are slow and requests cost nothing. */
export function isLocalAddress(url: string): boolean {
  const { hostname } = new URL(url);
  return LOCAL_NAME.test(hostname) || PRIVATE_ADDRESS.test(hostname);
}

/** The default time limits for a server. */
export function defaultTimeouts(baseUrl: string, apiMode: string): RequestTimeouts {
  return {
    staleMs: isLocalAddress(baseUrl) ? 900_000 : 180_000,
    requestMs: apiMode === "anthropic_messages" ? 900_000 : 1_800_000,
  };
}
