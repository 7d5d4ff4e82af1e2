import { number } from "../format.ts";

const SMALL = [
  "no",
  "one",
  "two",
  "three",
  "four",
  "five",
  "six",
  "seven",
  "eight",
  "nine",
  "ten",
  "eleven",
  "twelve",
];

/** A small number as a word, for sentences. */
export const spoken = (value: number): string => SMALL[value] ?? number(value);
