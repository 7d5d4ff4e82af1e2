import { createHash } from "node:crypto";
import { boardMigrations } from "../src/board/database/board-schema.ts";
import { toPostgres, toSqliteSchema } from "../src/board/database/dialect.ts";
import { slotMigrations } from "../src/board/dispatcher/host-slots.ts";
import { sessionMigrations } from "../src/sessions/session-migrations.ts";

interface Step {
  readonly name: string;
  readonly text: string;
}

const board = (translate: (sql: string) => string): Step[] =>
  boardMigrations.map((step) => ({
    name: step.name,
    // A step that is a function is held by the test that upgrades every shape that there ever was.
    text: "sql" in step ? translate(step.sql) : translate(step.postgres),
  }));

const SCHEMAS: Readonly<Record<string, readonly Step[]>> = {
  "board on SQLite": board(toSqliteSchema),
  "board on PostgreSQL": board((sql) => toPostgres(sql).text),
  sessions: sessionMigrations.map((step) => ({
    name: step.name,
    text: "sql" in step ? step.sql : step.name,
  })),
  slots: slotMigrations.map((step) => ({ name: step.name, text: "sql" in step ? step.sql : step.name })),
};

/** What each step was when it landed. A line is added with each new step, and none is ever changed. */
const LANDED: Readonly<Record<string, readonly string[]>> = {
  "board on SQLite": [
    "board f7647c9bb085b437",
    "leaving-runs f9fe7e39418288ac",
    "identity 1b0e060a70a666c6",
    "shared-attachments 381238e5607330a7",
    "ready-by-profile c3bd4c3f0e74ffa7",
    "one-shape e5cc55d10bb3d1fd",
    "attachment-hash 9be5e5f2345a2aff",
    "same-checks 85fb75b332fe0f06",
  ],
  "board on PostgreSQL": [
    "board 1bd1f6c90e9b419d",
    "leaving-runs 790323ef6542ec40",
    "identity 96618a3746103eec",
    "shared-attachments 5f100f70648f4f10",
    "ready-by-profile c3bd4c3f0e74ffa7",
    "one-shape ab13d34bed3dbdfc",
    "attachment-hash 7ef6b052f87d257b",
    "same-checks 85fb75b332fe0f06",
  ],
  sessions: [
    "leases dc320d28a8dfc492",
    "sessions 0584fe2a07264394",
    "search e2e4e3986a0a0df4",
    "shell of a session 5dff923f2d202547",
    "outcomes of a turn eea3d806fe4fe9fc",
    "address of a session's model 95cadc1cfb52136c",
  ],
  slots: ["slots 889bb67a18b2dd5e"],
};

/** Every step that is not what it was when it landed, as sentences. */
export function findChangedMigrations(schemas = SCHEMAS, landed = LANDED): string[] {
  return Object.entries(schemas).flatMap(([schema, steps]) => {
    const known = landed[schema] ?? [];
    const gone = known.slice(steps.length).map((line) => `${schema}: the step ${line} has gone`);
    const changed = steps.flatMap(({ name, text }, index) => {
      const line = `${name} ${createHash("sha256").update(text).digest("hex").slice(0, 16)}`;
      if (known[index] === line) return [];
      if (known[index] === undefined)
        return [`${schema}: add the new step to scripts/frozen-migrations.ts: "${line}"`];
      return [
        `${schema}: step ${index + 1} is "${line}" and was "${known[index]}" when it landed. Files that have had it would never get the change: undo it, and add a step.`,
      ];
    });
    return [...changed, ...gone];
  });
}
