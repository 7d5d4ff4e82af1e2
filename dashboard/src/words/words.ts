import { en } from "./en.ts";

/** The texts that another language must have; a missing one does not compile. */
export type Words = typeof en;

/** The texts in use. */
export const words: Words = en;
