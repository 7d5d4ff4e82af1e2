import type { Migration } from "../../lib/sqlite/migrate.ts";

/**
 * Both indexes are contentless. The word index covers all text; the column `tags` holds the filter terms and does not
 * affect the rank. The trigram index omits tool output, which would triple the size of the file.
 */
export const CREATE_INDEXES: readonly string[] = [
  `create virtual table message_words using fts5(
     text, tags, content = '', contentless_delete = 1, tokenize = "unicode61 remove_diacritics 2")`,
  "insert into message_words (message_words, rank) values ('rank', 'bm25(1.0, 0.0)')",
  `create virtual table message_trigrams using fts5(
     text, tags, content = '', contentless_delete = 1, tokenize = "trigram")`,
  "insert into message_trigrams (message_trigrams, rank) values ('rank', 'bm25(1.0, 0.0)')",
];

export const searchMigration: Migration = {
  name: "search",
  sql: `
    create table search_state (
      only integer primary key check (only = 1),
      indexed_through integer not null
    ) strict;
    insert into search_state values (1, 0);
    ${CREATE_INDEXES.join(";\n")}`,
};
