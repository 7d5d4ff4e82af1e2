/** The filter of the list, which is part of the address. */
export interface SessionFilter {
  readonly q?: string | undefined;
  readonly source?: string | undefined;
  readonly since?: "day" | "week" | "month" | undefined;
  readonly order?: "newest" | undefined;
}

export function readSessionFilter(search: Readonly<Record<string, unknown>>): SessionFilter {
  const { q, source, since, order } = search;
  return {
    ...(typeof q === "string" && q !== "" ? { q } : {}),
    ...(typeof source === "string" && source !== "" ? { source } : {}),
    ...(since === "day" || since === "week" || since === "month" ? { since } : {}),
    ...(order === "newest" ? { order } : {}),
  };
}
