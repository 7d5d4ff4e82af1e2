/** What the address of the settings says besides the section. */
export interface SettingsSearch {
  readonly view?: "yaml" | undefined;
  /** Shows the settings of all sections whose name or description contains this. */
  readonly q?: string | undefined;
}

export function readSettingsSearch({ view, q }: Record<string, unknown>): SettingsSearch {
  return {
    ...(view === "yaml" ? { view } : {}),
    ...(typeof q === "string" && q !== "" ? { q } : {}),
  };
}
