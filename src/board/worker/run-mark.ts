/** What every process of a run has in its environment, so that it is found wherever it forked away to. */
export const RUN_MARK = "HERMES_KANBAN_MARK";
/** The same for the supervisor, which is not one of the processes that it may end. */
export const SUPERVISOR_MARK = "HERMES_KANBAN_SUPERVISES";

export interface RunName {
  readonly taskId: string;
  readonly runId: number;
}

/** The beginning of the marks of one board, by its identity. */
export function boardMark(board: string): string {
  return `${board}.`;
}

/** The beginning of the marks of all runs of one task. */
export function taskMark(board: string, taskId: string): string {
  return `${boardMark(board)}${taskId}.`;
}

/** The mark of one run. It ends with a letter, so that no mark is the beginning of another. */
export function runMark(board: string, { taskId, runId }: RunName): string {
  return `${taskMark(board, taskId)}${runId}r`;
}

/** The run that a mark names, whichever board it is of. */
export function parseRunMark(mark: string | undefined): RunName | undefined {
  const [, taskId, runId] = /^[^.]+\.([^.]+)\.(\d{1,15})r$/.exec(mark ?? "") ?? [];
  return taskId === undefined ? undefined : { taskId, runId: Number(runId) };
}
