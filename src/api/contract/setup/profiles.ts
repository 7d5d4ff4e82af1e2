/** A profile was created, deleted, described or made the active one, by any process. */
export type ProfileChange = Readonly<Record<string, never>>;
