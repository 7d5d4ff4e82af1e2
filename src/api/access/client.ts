import type { IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";

/** What is known about the sender of a request before its credentials are checked. */
export interface Client {
  /** The address of the browser: that of the connection, or what a trusted proxy states. */
  readonly address: string;
  /** Whether the browser speaks HTTPS. */
  readonly isSecure: boolean;
  /** Scheme, host and port as the browser sees them. */
  readonly origin: string;
  /** The path prefix under which the browser sees the dashboard, without a trailing slash; empty for none. */
  readonly prefix: string;
  /** Whether the headers of the browser say that a page of this server sent the request. */
  readonly isOwnPage: boolean;
}

export interface ClientReaderOptions {
  /** The host that the server is bound to, and its port. */
  readonly host: string;
  readonly port: number;
  readonly publicUrl: URL | undefined;
  /** Further names, with or without a port. */
  readonly allowedHosts: readonly string[];
  /** Addresses and networks whose forwarded headers are trusted. */
  readonly trustedProxies: readonly string[];
}

const PREFIX = /^(?:\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*){1,20}$/;
/** Whether a path can be the prefix of the pages. */
const isPrefix = (path: string): boolean =>
  PREFIX.test(path) && path.length <= 200 && !/^\/(?:api|assets)(?:\/|$)/.test(path);

const HOST = /^(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/;

/** Reads the sender of a request; undefined if its `Host` is not a name of this server, as in DNS rebinding. */
export type ReadClient = (request: IncomingMessage) => Client | undefined;

export function createClientReader(options: ClientReaderOptions): ReadClient {
  const { port, publicUrl, allowedHosts, trustedProxies } = options;
  const proxies = listNetworks(trustedProxies);
  const ownHosts = new Set(boundHosts(options.host).map((name) => `${name}:${port}`));
  if (port === 80) for (const name of boundHosts(options.host)) ownHosts.add(name);
  if (publicUrl !== undefined) ownHosts.add(publicUrl.host);
  const furtherHosts = new Set(allowedHosts.map((name) => name.toLowerCase()));
  const isWildcard = ["0.0.0.0", "::", "[::]"].includes(options.host);
  /** Whether the host is the address that the browser reached. Unlike a name, an address cannot be rebound. */
  const isReached = (host: string, local: string | undefined): boolean => {
    const address = plainAddress(local);
    return isWildcard && host === `${isIP(address) === 6 ? `[${address}]` : address}:${port}`;
  };
  const isOwn = (host: string, local: string | undefined): boolean =>
    HOST.test(host) &&
    (ownHosts.has(host) ||
      furtherHosts.has(host) ||
      furtherHosts.has(host.replace(/:\d+$/, "")) ||
      isReached(host, local));

  return ({ headers, socket, url }) => {
    if (url?.startsWith("/") !== true || url.startsWith("//")) return undefined;
    const peer = plainAddress(socket.remoteAddress);
    const isProxied = isListed(proxies, peer);
    const forwarded = (name: string): string | undefined => {
      const value = isProxied ? headers[name] : undefined;
      return typeof value === "string" ? value.split(",").at(-1)?.trim() : undefined;
    };
    const host = (headers.host ?? "").toLowerCase();
    const seenHost = (forwarded("x-forwarded-host") ?? host).toLowerCase();
    if (!isOwn(host, socket.localAddress) || !isOwn(seenHost, socket.localAddress)) return undefined;
    const origin = headers.origin;
    const isPublic = publicUrl !== undefined && (seenHost === publicUrl.host || origin === publicUrl.origin);
    const scheme = forwarded("x-forwarded-proto") ?? (isPublic ? publicUrl.protocol.slice(0, -1) : "http");
    const isSameOrigin =
      origin === undefined ||
      origin.toLowerCase() === `${scheme}://${seenHost}` ||
      (isPublic && origin === publicUrl.origin);
    const site = headers["sec-fetch-site"];
    const stated = forwarded("x-forwarded-prefix")?.replace(/\/+$/, "") ?? "";
    const prefix = publicUrl === undefined ? stated : publicUrl.pathname.replace(/\/+$/, "");
    return {
      address: findBrowser(headers["x-forwarded-for"], peer, proxies),
      isSecure: scheme === "https",
      origin: `${scheme}://${seenHost}`,
      prefix: isPrefix(prefix) ? prefix : "",
      isOwnPage: isSameOrigin && (site === undefined || site === "same-origin" || site === "none"),
    };
  };
}

/** Whether only programs on this machine can reach an address. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, "$1");
  return name === "localhost" || name === "::1" || (isIP(name) === 4 && name.startsWith("127."));
}

/** The names that a browser may use for the address that the server is bound to. */
function boundHosts(host: string): readonly string[] {
  const name = host.toLowerCase();
  const own = name.includes(":") && !name.startsWith("[") ? `[${name}]` : name;
  return isLoopback(host) ? [...new Set([own, "127.0.0.1", "localhost", "[::1]"])] : [own];
}

/** The nearest address in the chain that is not a trusted proxy. */
function findBrowser(stated: string | string[] | undefined, peer: string, proxies: BlockList): string {
  const hops = [...[stated ?? []].flat().join(",").split(","), peer].map((hop) => hop.trim());
  let nearest = peer;
  while (isListed(proxies, nearest)) {
    hops.pop();
    const next = hops.at(-1);
    if (next === undefined || isIP(next) === 0) return nearest;
    nearest = next;
  }
  return nearest;
}

/** Parses addresses and networks, which the schema of the settings has already checked. */
function listNetworks(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = "", bits] = entry.split("/");
    const family = isIP(address) === 6 ? "ipv6" : "ipv4";
    list.addSubnet(address, Number(bits ?? (family === "ipv6" ? 128 : 32)), family);
  }
  return list;
}

/** Dual-stack sockets write IPv4 addresses as IPv6 ones. */
function plainAddress(address: string | undefined): string {
  return (address ?? "").replace(/^::ffff:(?=\d+\.)/i, "");
}

function isListed(list: BlockList, address: string): boolean {
  const version = isIP(address);
  return version !== 0 && list.check(address, version === 6 ? "ipv6" : "ipv4");
}
