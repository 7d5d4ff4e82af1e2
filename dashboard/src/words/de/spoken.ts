import { number } from "../format.ts";

const SMALL = ["zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf"];

/** A number from two up as a word, for sentences. One and none depend on the gender of the noun. */
export const spoken = (value: number): string => SMALL[value - 2] ?? number(value);
