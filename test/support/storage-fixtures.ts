import type { Migration } from "../../src/lib/sqlite/migrate.ts";

/** Migrations that each insert a row, so that applying one twice is detected. */
export const LOGGED: readonly Migration[] = [
  { name: "first", sql: "create table applied (name text not null); insert into applied values ('first')" },
  { name: "second", up: ({ prepare }) => void prepare("insert into applied values (?)").run("second") },
  { name: "third", sql: "create table third (x); insert into applied values ('third')" },
];

/** One number that tests increment. */
export const COUNTER: readonly Migration[] = [
  { name: "counter", sql: "create table counter (value integer not null); insert into counter values (0)" },
];

/** Rows of any size. */
export const BLOBS: readonly Migration[] = [
  { name: "blobs", sql: "create table blob (content blob not null)" },
];
