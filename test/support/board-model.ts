import type { Status } from "../../src/board/transitions.ts";

interface ModelTask {
  status: Status;
  readonly parents: Set<number>;
  hold: boolean;
  sticky: boolean;
  failures: number;
  blocks: number;
  dueAt: number;
}

const FAILURE_LIMIT = 2;
const CLOSED: readonly Status[] = ["done", "archived"];

/** The rules of a board as simply as possible, for one process and without a database. Tasks are identified by number. */
export class BoardModel {
  readonly tasks: ModelTask[] = [];
  now = 0;

  wait(ms: number): void {
    this.now += ms;
  }

  create(parents: readonly number[], hold: boolean): void {
    const known = new Set(parents);
    const status = [...known].every((parent) => this.#isClosed(parent)) ? "ready" : "todo";
    this.tasks.push({ status, parents: known, hold, sticky: false, failures: 0, blocks: 0, dueAt: 0 });
  }

  complete(number: number): void {
    const task = this.#require(number, ["running", "ready", "blocked", "review"]);
    if (this.#waits(task)) throw new Error("parents");
    Object.assign(task, { status: "done", failures: 0, blocks: 0, sticky: false });
    this.#wakeChildren(number);
  }

  block(number: number): void {
    const task = this.#require(number, ["running", "ready"]);
    task.blocks++;
    if (task.blocks >= 2) task.status = "triage";
    else Object.assign(task, { status: "blocked", sticky: true });
  }

  unblock(number: number): void {
    const task = this.#require(number, ["triage", "blocked", "scheduled"]);
    if (task.status === "triage") task.blocks = 0;
    Object.assign(task, { status: this.#rest(task), sticky: false, failures: 0 });
  }

  claim(count: number): void {
    const free = this.tasks.filter(({ status, hold }) => status === "ready" && !hold);
    for (const task of free.slice(0, count)) task.status = "running";
  }

  release(number: number): void {
    const task = this.#at(number);
    if (task.status === "running") task.status = this.#rest(task);
  }

  crash(number: number): void {
    const task = this.#at(number);
    if (task.status !== "running") return;
    task.failures++;
    if (task.failures >= FAILURE_LIMIT) Object.assign(task, { status: "blocked", sticky: false });
    else task.status = this.#rest(task);
  }

  archive(number: number): void {
    const task = this.#at(number);
    if (task.status === "archived") throw new Error("move");
    task.status = "archived";
    this.#wakeChildren(number);
  }

  link(parent: number, child: number): void {
    const task = this.#at(child);
    if (parent === child) throw new Error("cycle");
    if (CLOSED.includes(task.status)) throw new Error("move");
    if (this.#after(child).has(parent)) throw new Error("cycle");
    if (task.parents.has(parent)) return;
    task.parents.add(parent);
    if (task.status === "ready" && !this.#isClosed(parent)) task.status = "todo";
  }

  unlink(parent: number, child: number): void {
    if (this.#at(child).parents.delete(parent)) this.recompute();
  }

  hold(number: number, hold: boolean): void {
    const task = this.#at(number);
    if (task.status === "archived") throw new Error("move");
    if (task.hold === hold) return;
    task.hold = hold;
    if (!hold) this.recompute();
  }

  promote(number: number): void {
    const task = this.#require(number, ["triage", "todo", "blocked"]);
    if (this.#waits(task)) throw new Error("parents");
    if (task.hold) throw new Error("move");
    if (task.status === "triage") task.blocks = 0;
    Object.assign(task, { status: "ready", sticky: false, failures: 0 });
  }

  schedule(number: number, inMs: number): void {
    const task = this.#require(number, ["todo", "scheduled", "ready", "running", "blocked"]);
    Object.assign(task, { status: "scheduled", dueAt: this.now + inMs });
  }

  reopen(number: number): void {
    const task = this.#require(number, ["done", "archived"]);
    task.status = this.#rest(task);
    for (const after of this.#after(number)) {
      const descendant = this.#at(after);
      if (["ready", "review", "running", "done"].includes(descendant.status)) descendant.status = "todo";
    }
  }

  recompute(): void {
    for (const task of this.tasks) this.#wake(task);
  }

  #wakeChildren(parent: number): void {
    for (const task of this.tasks)
      if (task.parents.has(parent) && task.status !== "scheduled") this.#wake(task);
  }

  #wake(task: ModelTask): void {
    if (task.hold) return;
    const { status, sticky, failures, dueAt } = task;
    const isDue = status === "scheduled" && dueAt <= this.now;
    const isFree = status === "todo" || (status === "blocked" && !sticky && failures < FAILURE_LIMIT);
    if (isDue || (isFree && !this.#waits(task))) task.status = this.#rest(task);
  }

  #rest(task: ModelTask): "todo" | "ready" {
    return this.#waits(task) ? "todo" : "ready";
  }

  #waits(task: ModelTask): boolean {
    return [...task.parents].some((parent) => !this.#isClosed(parent));
  }

  #isClosed(number: number): boolean {
    return CLOSED.includes(this.#at(number).status);
  }

  #after(number: number): ReadonlySet<number> {
    const found = new Set<number>();
    const visit = (parent: number): void => {
      for (const [child, { parents }] of this.tasks.entries()) {
        if (!parents.has(parent) || found.has(child)) continue;
        found.add(child);
        visit(child);
      }
    };
    visit(number);
    return found;
  }

  #require(number: number, from: readonly Status[]): ModelTask {
    const task = this.#at(number);
    if (!from.includes(task.status)) throw new Error("move");
    return task;
  }

  #at(number: number): ModelTask {
    const task = this.tasks[number];
    if (task === undefined) throw new Error(`task ${number} does not exist`);
    return task;
  }
}
