/** The gateway of a profile has stored something: a state, a message, a request of a person. */
export interface PlatformChange {
  readonly profile: string;
}
