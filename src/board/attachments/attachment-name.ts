import { shorten } from "../../lib/shorten.ts";
import { invalid } from "../task-text.ts";

const LONGEST = 200;
const LONGEST_BYTES = 240; // file systems end at 255

/** The name under which a file can be kept, made of whatever somebody called it; throws when nothing is left of it. */
export function attachmentName(given: string): string {
  const last = given.split(/[/\\]/).at(-1) ?? "";
  const name = last
    // Control characters, halves of characters, and those that turn the direction of writing to hide an ending.
    .replace(/[\p{Cc}\p{Surrogate}\u2028\u2029\u202A-\u202E\u2066-\u2069]/gu, "")
    .replace(/^[.\s]+|\s+$/gu, "");
  if (name === "") throw invalid(`${JSON.stringify(shorten(given, 80))} is no name for a file.`);
  return fitted(name, "");
}

/** The same name with a number, for when it is taken. */
export function numberedName(name: string, number: number): string {
  return number === 0 ? name : fitted(name, ` (${number})`);
}

/** Whether a name is this one, with or without a number. */
export function isNumbered(name: string, plain: string): boolean {
  const number = Number(/ \((\d{1,6})\)(?:\.[^.]*)?$/.exec(name)?.[1] ?? 0);
  return name === plain || name === numberedName(plain, number);
}

/** The name with `mark` before its ending, cut before both where it is too long. */
function fitted(name: string, mark: string): string {
  const dot = name.lastIndexOf(".");
  const isEnding = dot > 0 && name.length - dot <= 20;
  const end = `${mark}${isEnding ? name.slice(dot) : ""}`;
  const characters = [...(isEnding ? name.slice(0, dot) : name)];
  const isLong = () => {
    const whole = characters.join("") + end;
    return whole.length > LONGEST || Buffer.byteLength(whole) > LONGEST_BYTES;
  };
  while (isLong()) characters.pop();
  return characters.join("") + end;
}
