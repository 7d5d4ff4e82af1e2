import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { checkReading } from "../hardline/check-hardline.ts";
import { readCommand } from "../shell-reader/read-command.ts";
import { classifyCommand } from "./classify-command.ts";
import { COMMAND_CLASSES } from "./command-classes.ts";

interface Entry {
  readonly run: string;
  readonly expect: "allow" | "ask" | "refuse";
  readonly class?: string;
  readonly state?: string;
}

const FACTS = { home: "/home/ann", cwd: "/home/ann/project", hermesHome: "/home/ann/.hermes" };
const CORPUS: readonly Entry[] = ["reviewed", "everyday", "agents"].flatMap((name) =>
  parse(readFileSync(new URL(`../../../test/fixtures/commands/${name}.yaml`, import.meta.url), "utf8")),
);

function judge({ run, state }: Entry): {
  readonly refused: string | undefined;
  readonly classes: readonly string[];
} {
  const reading = readCommand(run, FACTS);
  if ("unreadable" in reading) return { refused: reading.unreadable, classes: [] };
  const findings = classifyCommand(reading, FACTS);
  const harmful = findings.filter(({ harmlessIf }) => harmlessIf === undefined || harmlessIf.state !== state);
  const classes = harmful.map((finding) => finding.class);
  return { refused: checkReading(reading, FACTS)?.rule, classes };
}

function entries(expected: Entry["expect"]): readonly Entry[] {
  return CORPUS.filter((entry) => entry.expect === expected);
}

describe("the corpus of commands", () => {
  it("K4: every command that must never run is refused", () => {
    const missed = entries("refuse").filter((entry) => judge(entry).refused === undefined);
    expect(missed).toEqual([]);
  });

  it("K4: every command that needs an answer has a finding or is refused", () => {
    const missed = entries("ask").filter((entry) => {
      const { refused, classes } = judge(entry);
      return refused === undefined && classes.length === 0;
    });
    expect(missed).toEqual([]);
  });

  it("K4: a finding names the class of the command", () => {
    const wrong = entries("ask").filter((entry) => {
      const { class: expected } = entry;
      const { refused, classes } = judge(entry);
      return expected !== undefined && refused === undefined && !classes.includes(expected);
    });
    expect(wrong).toEqual([]);
    for (const { class: name } of CORPUS)
      if (name !== undefined) expect(COMMAND_CLASSES).toHaveProperty(name);
  });

  it("K4: everyday work is not refused, and at most one of a hundred commands has a finding", () => {
    const all = entries("allow");
    expect(all.filter((entry) => judge(entry).refused !== undefined)).toEqual([]);
    const asked = all.filter((entry) => judge(entry).classes.length > 0);
    expect(asked.length, JSON.stringify(asked)).toBeLessThanOrEqual(all.length / 100);
  });
});
