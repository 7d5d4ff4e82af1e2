import { createHash } from "node:crypto";
import { apiMigrations } from "../src/api/store/api-schema.ts";
import { boardMigrations } from "../src/board/database/board-schema.ts";
import { toPostgres, toSqlite } from "../src/board/database/dialect.ts";
import { slotMigrations } from "../src/board/dispatcher/host-slots.ts";
import { gatewayMigrations } from "../src/gateway/store/gateway-database.ts";
import { keyStateMigrations } from "../src/providers/pool/key-states.ts";
import { sessionMigrations } from "../src/sessions/session-migrations.ts";

interface Step {
  readonly name: string;
  readonly text: string;
}

const board = (translate: (sql: string) => string): Step[] =>
  boardMigrations.map((step) => ({
    name: step.name,
    // Of a step that is a function, only the SQL for PostgreSQL is hashed; a test upgrades every earlier shape of the schema.
    text: "sql" in step ? translate(step.sql) : translate(step.postgres),
  }));

const SCHEMAS: Readonly<Record<string, readonly Step[]>> = {
  "board on SQLite": board(toSqlite),
  "board on PostgreSQL": board((sql) => toPostgres(sql).text),
  sessions: sessionMigrations.map((step) => ({
    name: step.name,
    text: "sql" in step ? step.sql : step.name,
  })),
  slots: slotMigrations.map((step) => ({ name: step.name, text: "sql" in step ? step.sql : step.name })),
  gateway: gatewayMigrations.map((step) => ({
    name: step.name,
    text: "sql" in step ? step.sql : step.name,
  })),
  api: apiMigrations.map((step) => ({ name: step.name, text: "sql" in step ? step.sql : step.name })),
  keys: keyStateMigrations.map((step) => ({ name: step.name, text: "sql" in step ? step.sql : step.name })),
};

/** The hash of each step when it was released. Each new step adds a line, and no line ever changes. */
const RELEASED: Readonly<Record<string, readonly string[]>> = {
  "board on SQLite": [
    "board f7647c9bb085b437",
    "leaving-runs f9fe7e39418288ac",
    "identity 1b0e060a70a666c6",
    "shared-attachments 381238e5607330a7",
    "ready-by-profile c3bd4c3f0e74ffa7",
    "one-shape e5cc55d10bb3d1fd",
    "attachment-hash 9be5e5f2345a2aff",
    "same-checks 85fb75b332fe0f06",
    "ended-tasks 0878cdd8a7a137f2",
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
    "ended-tasks 0878cdd8a7a137f2",
  ],
  sessions: [
    "leases dc320d28a8dfc492",
    "sessions 0584fe2a07264394",
    "search e2e4e3986a0a0df4",
    "shell of a session 5dff923f2d202547",
    "outcomes of a turn eea3d806fe4fe9fc",
    "address of a session's model 95cadc1cfb52136c",
    "what a session keeps of its route 5f5e074c1093ed35",
    "approvals and decisions 32c368f2532b9bbe",
    "switches of key and model 26ea23a7e513b872",
    "branches, undone turns and archived sessions ff9480c8cd0f6a48",
    "clarifications 348840a3b1e1e001",
    "requests to the reviewer b1228c5dbab5365c",
    "compactions 41d32278be19e9e8",
    "where untrusted text comes from 832091d774650173",
  ],
  gateway: [
    "leases dc320d28a8dfc492",
    "messages 1773c9f0afe7eb96",
    "pairing 53a28d3176fe2a30",
    "state of the gateway 26a3ae3363c27471",
    "messages that change, and choices of people 3577f3caacd5510a",
    "trusted hooks a3165f256b6a8764",
  ],
  slots: ["slots 889bb67a18b2dd5e"],
  api: ["api 0cc3ccf99a9479d0"],
  keys: ["key states 3ec4405ebb7883b7"],
};

/** Describes every step that is new, was removed, or differs from its released version. */
export function findChangedMigrations(schemas = SCHEMAS, released = RELEASED): string[] {
  return Object.entries(schemas).flatMap(([schema, steps]) => {
    const known = released[schema] ?? [];
    const removed = known.slice(steps.length).map((line) => `${schema}: the step ${line} was removed`);
    const changed = steps.flatMap(({ name, text }, index) => {
      const line = `${name} ${createHash("sha256").update(text).digest("hex").slice(0, 16)}`;
      if (known[index] === line) return [];
      if (known[index] === undefined)
        return [`${schema}: add the new step to scripts/frozen-migrations.ts: "${line}"`];
      return [
        `${schema}: step ${index + 1} is "${line}" but was released as "${known[index]}". Existing files would never get the change: revert it, and add a new step.`,
      ];
    });
    return [...changed, ...removed];
  });
}
