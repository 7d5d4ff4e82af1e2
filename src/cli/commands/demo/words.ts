import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { AppError } from "../../../lib/errors.ts";

/** A demonstration that did not go as it always does. */
export function unexpected(what: string, stderr = ""): AppError {
  const said = stderr === "" ? "" : ` It said:\n${stderr.trimEnd()}`;
  return new AppError("checks-failed", `The demo went wrong: ${what}.${said}`, {
    hint: "See what is missing on this machine with `hermes doctor`.",
  });
}

/** A text of several words after a heading, its further lines below its first one. */
export function wrapped(heading: string, text: string): string {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1) ?? "";
    if (line !== "" && heading.length + line.length + word.length > 78) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines.map((line, index) => (index === 0 ? heading : " ".repeat(heading.length)) + line).join("\n");
}

/** How the person calls us: in a fresh clone there is no `hermes` on the PATH. */
export function ownName(): string {
  const root = dirname(dirname(process.argv[1] ?? ""));
  return process.cwd() === root && existsSync(join(root, "hermes")) ? "./hermes" : "hermes";
}

/** Commands beside what they do. */
export function renderSteps(steps: readonly (readonly [command: string, why: string])[]): string {
  const width = Math.max(...steps.map(([command]) => command.length)) + 2;
  return steps.map(([command, why]) => `  ${command.padEnd(width)}${why}`).join("\n");
}
