import { type LookupAddress, lookup as lookUpAddresses } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { promisify } from "node:util";
import { AppError } from "../errors.ts";

/** Networks that a fetched address must not lead to: this machine, local networks, metadata services, reserved ranges. */
const PRIVATE_V4 = createBlockList(
  "ipv4",
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3",
);
/** Everything outside of 2000::/3 is local, reserved or an IPv4 address in disguise; so are the last three. */
const PRIVATE_V6 = createBlockList("ipv6", "::/3 4000::/2 8000::/1 2001::/23 2001:db8::/32 2002::/16");

function createBlockList(family: "ipv4" | "ipv6", networks: string): BlockList {
  const list = new BlockList();
  for (const network of networks.split(" ")) {
    const [address = "", bits = ""] = network.split("/");
    list.addSubnet(address, Number(bits), family);
  }
  return list;
}

/** Whether an IP address belongs to the public internet. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 4) return !PRIVATE_V4.check(address, "ipv4");
  return isIP(address) === 6 && !PRIVATE_V6.check(address, "ipv6");
}

/** Throws unless every address of a host is public; a host without an address is refused too. */
export async function requirePublicHost(hostname: string): Promise<void> {
  const host = hostname.replace(/^\[|\]$/g, "");
  const found: readonly LookupAddress[] =
    isIP(host) === 0
      ? await promisify(lookUpAddresses)(host, { all: true })
      : [{ address: host, family: isIP(host) }];
  requirePublicAddresses(host, found);
}

/** Resolves a name for a connection, and refuses one that has a private address: it may have changed since the last check. */
export const lookUpPublic: LookupFunction = (hostname, options, callback) => {
  lookUpAddresses(hostname, { ...options, all: true }, (error, found) => {
    if (error) return callback(error, []);
    try {
      requirePublicAddresses(hostname, found);
    } catch (refusal) {
      return callback(refusal as Error, []);
    }
    const [first] = found;
    if (options.all) callback(null, found);
    else callback(null, first?.address ?? "", first?.family);
  });
};

function requirePublicAddresses(host: string, found: readonly LookupAddress[]): void {
  if (found.length > 0 && found.every(({ address }) => isPublicAddress(address))) return;
  throw new AppError("address-private", `${host} is not on the public internet, so it was not fetched.`);
}
