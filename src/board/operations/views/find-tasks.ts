import { all, type Steps } from "../../database/steps.ts";
import type { Task } from "../../task.ts";

const NUMBER = /^#?([1-9]\d{0,14})$/;
const ID_PREFIX = /^(?:t_)?([0-9a-f]{4,12})$/;
const CANDIDATES = 10;

/** Finds up to ten tasks by user input: a number such as `#12` or `12`, or the first four or more hex digits of an id. */
export function* findTasks(text: string): Steps<readonly Pick<Task, "id" | "title" | "status">[]> {
  const word = text.trim().toLowerCase();
  const number = NUMBER.exec(word)?.[1];
  if (number !== undefined) {
    const numbered = yield* all<Pick<Task, "id" | "title" | "status">>(
      "select id, title, status from task where seq = :seq",
      { seq: Number(number) },
    );
    if (numbered.length > 0) return numbered;
  }
  const digits = ID_PREFIX.exec(word)?.[1];
  if (digits === undefined) return [];
  // Both databases answer a range query from the index of ids; `g` sorts after every hex digit.
  return yield* all(
    `select id, title, status from task where id >= :from and id < :to order by id limit ${CANDIDATES}`,
    { from: `t_${digits}`, to: `t_${digits}g` },
  );
}
