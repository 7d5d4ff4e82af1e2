import type { LookupAddress, LookupAllOptions } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { AppError } from "../errors.ts";

/** Networks that must not be fetched from: this machine, local networks, metadata services, reserved ranges. */
const PRIVATE_V4 = createBlockList(
  "ipv4",
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3",
);
/** Everything outside 2000::/3 is local, reserved or an embedded IPv4 address. The last three are exceptions inside it. */
const PRIVATE_V6 = createBlockList("ipv6", "::/3 4000::/2 8000::/1 2001::/23 2001:db8::/32 2002::/16");

function createBlockList(family: "ipv4" | "ipv6", networks: string): BlockList {
  const list = new BlockList();
  for (const network of networks.split(" ")) {
    const [address = "", bits = ""] = network.split("/");
    list.addSubnet(address, Number(bits), family);
  }
  return list;
}

/** Names of the services from which machines in a cloud get their credentials. They are refused whatever they resolve to. */
export const METADATA_HOSTS: ReadonlySet<string> = new Set([
  "metadata.google.internal",
  "metadata",
  "metadata.azure.internal",
  "instance-data",
]);

/** Resolves a name as `dns.lookup` does with the option `all`. */
export type LookUpAddresses = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** Whether an IP address belongs to the public internet. An address with a zone is local to a network interface. */
export function isPublicAddress(address: string): boolean {
  if (address.includes("%")) return false;
  if (isIP(address) === 4) return !PRIVATE_V4.check(address, "ipv4");
  return isIP(address) === 6 && !PRIVATE_V6.check(address, "ipv6");
}

/** Throws unless every address of a host is public; a host without an address is refused too. */
export async function requirePublicHost(hostname: string, lookUp: LookUpAddresses): Promise<void> {
  const host = hostname.replace(/^\[|\]$/g, "");
  if (METADATA_HOSTS.has(host.toLowerCase().replace(/\.+$/, ""))) throw refuse(host);
  const family = isIP(host);
  if (family !== 0) return requirePublicAddresses(host, [{ address: host, family }]);
  const found = await new Promise<LookupAddress[]>((resolve, reject) =>
    lookUp(host, { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses))),
  );
  requirePublicAddresses(host, found);
}

/** Resolves names for connections and refuses private addresses, because a name may resolve differently than at the check. */
export function onlyPublic(lookUp: LookUpAddresses): LookupFunction {
  return (hostname, options, callback) =>
    lookUp(hostname, { ...options, all: true }, (error, found) => {
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
}

function requirePublicAddresses(host: string, found: readonly LookupAddress[]): void {
  if (found.length === 0 || !found.every(({ address }) => isPublicAddress(address))) throw refuse(host);
}

function refuse(host: string): AppError {
  return new AppError("address-private", `${host} is not on the public internet, so it was not fetched.`);
}
