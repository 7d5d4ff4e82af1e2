import { shorten } from "../../lib/text/shorten.ts";
import { invalidInput } from "../task-text.ts";

const MAX_LENGTH = 200;
const MAX_BYTES = 240; // most file systems allow 255

/** Derives a safe file name from a given name; throws `task-input-invalid` when nothing remains. */
export function attachmentName(given: string): string {
  const last = given.split(/[/\\]/).at(-1) ?? "";
  const name = last
    // Control characters, lone surrogates, and bidirectional overrides that can hide the extension.
    .replace(/[\p{Cc}\p{Surrogate}\u2028\u2029\u202A-\u202E\u2066-\u2069]/gu, "")
    .replace(/^[.\s]+|\s+$/gu, "");
  if (name === "") throw invalidInput(`${JSON.stringify(shorten(given, 80))} is not a valid file name.`);
  return fitName(name, "");
}

/** The name with a number, for a duplicate name; number 0 returns the name unchanged. */
export function numberedName(name: string, number: number): string {
  return number === 0 ? name : fitName(name, ` (${number})`);
}

/** Whether `name` is `plain`, with or without a number. */
export function isNumbered(name: string, plain: string): boolean {
  const number = Number(/ \((\d{1,6})\)(?:\.[^.]*)?$/.exec(name)?.[1] ?? 0);
  return name === plain || name === numberedName(plain, number);
}

/** Inserts `suffix` before the extension and shortens the stem of a name that is too long. */
function fitName(name: string, suffix: string): string {
  const dot = name.lastIndexOf(".");
  const hasExtension = dot > 0 && name.length - dot <= 20;
  const end = `${suffix}${hasExtension ? name.slice(dot) : ""}`;
  const characters = [...(hasExtension ? name.slice(0, dot) : name)];
  const isTooLong = () => {
    const whole = characters.join("") + end;
    return whole.length > MAX_LENGTH || Buffer.byteLength(whole) > MAX_BYTES;
  };
  while (isTooLong()) characters.pop();
  return characters.join("") + end;
}
