/** The result of a rule for a command that must not run. */
export interface Refusal {
  readonly rule: HardlineRule;
  /** What the command would do, as the end of "it would …". */
  readonly effect: string;
  /** What to do instead, as a sentence. */
  readonly advice: string;
}

export type HardlineRule =
  | "remove-root"
  | "remove-system"
  | "remove-home"
  | "format-device"
  | "wipe-device"
  | "write-device"
  | "break-permissions"
  | "fork-bomb"
  | "kill-everything"
  | "power-off";
