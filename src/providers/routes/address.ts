/** Whether an address belongs to this machine. */
export function isLoopback(address: string): boolean {
  const { hostname } = new URL(address);
  return /^(?:(?:.+\.)?localhost\.?|127(?:\.\d+){3}|0\.0\.0\.0|\[::1?\])$/.test(hostname);
}

/** Whether requests to the address cross a network unencrypted. */
export function isUnencrypted(address: string): boolean {
  return new URL(address).protocol === "http:" && !isLoopback(address);
}

/** Whether two addresses have the same origin; an empty address matches none. */
export function isSameServer(one: string, other: string | undefined): boolean {
  return Boolean(other) && new URL(one).origin === new URL(String(other)).origin;
}

export function hostOf(address: string): string {
  return new URL(address).host;
}

/** Separates the query of an address, such as `?api-version=…`, from the part that paths are added to. */
export function splitQuery(address: string): { readonly base: string; readonly search: string } {
  const { origin, pathname, search } = new URL(address);
  return { base: `${origin}${pathname.replace(/\/+$/, "")}`, search };
}
