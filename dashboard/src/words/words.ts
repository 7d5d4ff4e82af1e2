import { en } from "./en.ts";

/** What another language must have: a missing sentence does not compile. */
export type Words = typeof en;

/** The sentences that are shown. */
export const words: Words = en;
