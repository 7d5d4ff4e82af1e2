/** Something wrong in a layer of the settings, with the place and the way out. */
export interface Problem {
  /** An `unknown-key` only warns when a program starts: a home may be shared with a newer version. */
  readonly kind: "bad-value" | "unknown-key" | "unreadable";
  readonly key: string | undefined;
  /** A flag, a variable, or file:line:column. */
  readonly where: string;
  readonly message: string;
  readonly hint: string;
  /** False for a key that the chosen backend does not look at: it is reported, but does not stop the program. */
  readonly used: boolean;
}

/** The problem as one line. */
export function problemLine({ where, key, message }: Problem): string {
  return key === undefined ? `${where}: ${message}` : `${where}: ${key} ${message}`;
}
