import { METADATA_HOSTS } from "../../lib/http/public-address.ts";

const METADATA_V6 = "fd00:ec2::254";
const METADATA_NUMBERS = new Set(
  ["169.254.169.254", "169.254.170.2", "100.100.100.200"].map((address) => numberOf(address)),
);

/** Whether an address, with or without a scheme, is a spelling of a cloud's metadata service. */
export function isMetadataAddress(word: string): boolean {
  const hasScheme = /^[a-z]+:\/\//i.test(word);
  const rest = hasScheme ? word.slice(word.indexOf("://") + 3) : word;
  const authority = rest.split(/[/?#]/, 1)[0] ?? "";
  const host = authority
    .slice(authority.lastIndexOf("@") + 1)
    .replace(/^\[|\](?::\d+)?$/g, "")
    .toLowerCase();
  const name = host.includes("::") ? host.replace(/^::ffff:/, "") : host.replace(/:\d+$/, "");
  if (METADATA_HOSTS.has(name) || name === METADATA_V6)
    return hasScheme || name.includes(".") || name.includes(":");
  const number = numberOf(name);
  return number !== undefined && METADATA_NUMBERS.has(number) && (hasScheme || name.includes("."));
}

/** The value of an IPv4 address in any form that `inet_aton` reads: `169.254.169.254`, `2852039166`, `0xa9.254.43518`. */
function numberOf(host: string): number | undefined {
  const parts = host.split(".");
  if (host.length > 60 || parts.length > 4 || !parts.every((part) => /^(?:0x[0-9a-f]+|\d+)$/.test(part)))
    return undefined;
  const numbers = parts.map((part) => (/^0\d/.test(part) ? Number.parseInt(part, 8) : Number(part)));
  const last = numbers.pop() ?? 0;
  return numbers.reduce((sum, number, index) => sum + number * 256 ** (3 - index), last);
}
