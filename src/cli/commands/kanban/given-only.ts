type Given<Values> = { [Key in keyof Values]?: Exclude<Values[Key], undefined> };

/** Without the keys that nothing was given for. */
export function givenOnly<Values extends object>(values: Values): Given<Values> {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined),
  ) as Given<Values>;
}
