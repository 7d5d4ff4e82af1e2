import type { Tool } from "../../tools/tool.ts";
import type { Caller } from "../caller.ts";
import { type BoardToolContext, type BoardToolParts, createBoardToolContext } from "./board-tool.ts";
import { createAttach, createComment, createLink, createUnblock } from "./collaboration-tools.ts";
import { createCreateTool } from "./create-tool.ts";
import { createAttachments, createList, createShow } from "./read-tools.ts";
import { createBlock, createComplete, createHeartbeat } from "./work-tools.ts";

type CreateTool = (board: BoardToolContext) => Tool;

const WORKER: readonly CreateTool[] = [
  createShow,
  createComplete,
  createBlock,
  createHeartbeat,
  createComment,
  createAttach,
  createAttachments,
  createCreateTool,
  createLink,
];
const ORCHESTRATOR: readonly CreateTool[] = [
  createShow,
  createList,
  createComment,
  createAttach,
  createAttachments,
  createCreateTool,
  createLink,
  createUnblock,
];

/** The tools of each kind of caller. The store refuses the same operations. */
const TOOLS_OF: Readonly<Record<Caller["kind"], readonly CreateTool[]>> = {
  run: WORKER,
  agent: ORCHESTRATOR,
  operator: [...ORCHESTRATOR, createComplete, createBlock],
  delegate: [createShow, createAttachments],
  system: [],
};

/** Creates the board tools that the caller may use. */
export function createBoardTools(parts: BoardToolParts): readonly Tool[] {
  const board = createBoardToolContext(parts);
  return TOOLS_OF[parts.caller.kind].map((createTool) => createTool(board));
}

/** The tools that the worker of a task is offered, for inspection only; calling one is a bug. */
export function describeBoardTools(): readonly Tool[] {
  const nothing = {} as BoardToolContext; // only a call would use it
  return WORKER.map((createTool) => createTool(nothing));
}
