import { BlockList, isIP, isIPv4 } from "node:net";

type Rule = (host: string, port: number) => boolean;

/**
 * Parses a NO_PROXY value into a predicate that is true for URLs to reach without the proxy. Entries are separated by commas or
 * whitespace: a name (including its subdomains; a leading `.` or `*.` makes no difference), an IP address or a CIDR block, each
 * with an optional `:port`, or `*` for everything.
 */
export function parseNoProxy(text: string): (url: URL) => boolean {
  const rules = text
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== "")
    .map(parseEntry);
  return (url) => {
    const host = withoutBrackets(url.hostname).replace(/\.$/, "");
    const port = Number(url.port || (url.protocol === "https:" ? 443 : 80));
    return rules.some((rule) => rule(host, port));
  };
}

function parseEntry(entry: string): Rule {
  // A bare IPv6 address contains colons, so a port is recognised only after brackets.
  const [, pattern = entry, wantedPort] = /^(\[.*\]|[^:]*):(\d+)$/.exec(entry) ?? [];
  const matches = parseHost(withoutBrackets(pattern));
  return (host, port) => (wantedPort === undefined || Number(wantedPort) === port) && matches(host);
}

function parseHost(pattern: string): (host: string) => boolean {
  if (pattern === "*") return () => true;
  const [address = "", bits] = pattern.split("/");
  if (isIP(address) !== 0) return parseBlock(address, bits);
  const name = pattern.replace(/^\*?\./, "").replace(/\.$/, "");
  return (host) => host === name || host.endsWith(`.${name}`);
}

function parseBlock(address: string, bits: string | undefined): (host: string) => boolean {
  const family = isIPv4(address) ? "ipv4" : "ipv6";
  const maxPrefix = family === "ipv4" ? 32 : 128;
  const prefix = bits === undefined ? maxPrefix : Number(bits || Number.NaN);
  if (!(Number.isInteger(prefix) && prefix >= 0 && prefix <= maxPrefix)) return () => false;
  const block = new BlockList();
  block.addSubnet(address, prefix, family);
  return (host) => isIP(host) !== 0 && block.check(host, isIPv4(host) ? "ipv4" : "ipv6");
}

function withoutBrackets(host: string): string {
  return host.replace(/^\[(.*)\]$/, "$1");
}
