/** Something wrong in a layer of the settings, with the place and the way out. */
export interface Problem {
  /** `unknown-key` and `unbuilt-key` only warn at start: another program or a newer version may share the home. */
  readonly kind: "bad-value" | "unknown-key" | "unbuilt-key" | "unreadable";
  readonly key: string | undefined;
  /** A flag, a variable, or file:line:column. */
  readonly where: string;
  readonly message: string;
  readonly hint: string;
  /** False for a key that the chosen backend does not look at: it is reported, but does not stop the program. */
  readonly used: boolean;
}

/** Whether a program can start although nothing reads the setting. */
export function isIgnored({ kind }: Problem): boolean {
  return kind === "unknown-key" || kind === "unbuilt-key";
}

/** The problem as one line. */
export function problemLine({ where, key, message }: Problem): string {
  return key === undefined ? `${where}: ${message}` : `${where}: ${key} ${message}`;
}
