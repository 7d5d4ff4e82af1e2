/** The address of a task on its board. */
export const taskPath = (board: string, id: string) =>
  `/board/${encodeURIComponent(board)}/${encodeURIComponent(id)}` as "/"; // the routes of the board are below the shell
