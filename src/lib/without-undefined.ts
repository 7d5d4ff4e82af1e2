type Given<Values> = { [Key in keyof Values]?: Exclude<Values[Key], undefined> };

/** Removes the keys whose value is undefined. */
export function withoutUndefined<Values extends object>(values: Values): Given<Values> {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined),
  ) as Given<Values>;
}
