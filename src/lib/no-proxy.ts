import { BlockList, isIP, isIPv4 } from "node:net";

type Rule = (host: string, port: number) => boolean;

/**
 * Reads a NO_PROXY value into the question whether an address is reached without the proxy. Entries are parted by
 * commas or blanks: a name (its subdomains too; a leading `.` or `*.` changes nothing), an IP address, a CIDR block,
 * each with an optional `:port`, or `*` for everything.
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
  // A bare IPv6 address is full of colons, so only what stands behind its brackets is a port.
  const [, place = entry, wantedPort] = /^(\[.*\]|[^:]*):(\d+)$/.exec(entry) ?? [];
  const matches = parsePlace(withoutBrackets(place));
  return (host, port) => (wantedPort === undefined || Number(wantedPort) === port) && matches(host);
}

function parsePlace(place: string): (host: string) => boolean {
  if (place === "*") return () => true;
  const [address = "", bits] = place.split("/");
  if (isIP(address) !== 0) return parseBlock(address, bits);
  const name = place.replace(/^\*?\./, "").replace(/\.$/, "");
  return (host) => host === name || host.endsWith(`.${name}`);
}

function parseBlock(address: string, bits: string | undefined): (host: string) => boolean {
  const family = isIPv4(address) ? "ipv4" : "ipv6";
  const longest = family === "ipv4" ? 32 : 128;
  const prefix = bits === undefined ? longest : Number(bits || Number.NaN);
  if (!(Number.isInteger(prefix) && prefix >= 0 && prefix <= longest)) return () => false;
  const block = new BlockList();
  block.addSubnet(address, prefix, family);
  return (host) => isIP(host) !== 0 && block.check(host, isIPv4(host) ? "ipv4" : "ipv6");
}

function withoutBrackets(host: string): string {
  return host.replace(/^\[(.*)\]$/, "$1");
}
