/** The environment variable of every process of a run, by which the process is found even after it was daemonised. */
export const RUN_MARK = "HERMES_KANBAN_MARK";
/** The variable of the supervisor; a separate one, so that the supervisor does not kill itself. */
export const SUPERVISOR_MARK = "HERMES_KANBAN_SUPERVISES";

export interface RunName {
  readonly taskId: string;
  readonly runId: number;
}

/** The common prefix of the marks of one board; `board` is the identity of the board. */
export function boardMark(board: string): string {
  return `${board}.`;
}

/** The common prefix of the marks of all runs of one task. */
export function taskMark(board: string, taskId: string): string {
  return `${boardMark(board)}${taskId}.`;
}

/** The mark of one run. It ends with a letter, so that no mark is a prefix of another. */
export function runMark(board: string, { taskId, runId }: RunName): string {
  return `${taskMark(board, taskId)}${runId}r`;
}

/** The run that a mark names, of any board. */
export function parseRunMark(mark: string | undefined): RunName | undefined {
  const [, taskId, runId] = /^[^.]+\.([^.]+)\.(\d{1,15})r$/.exec(mark ?? "") ?? [];
  return taskId === undefined ? undefined : { taskId, runId: Number(runId) };
}
