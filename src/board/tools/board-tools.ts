import type { Tool } from "../../tools/tool.ts";
import type { Caller } from "../caller.ts";
import { type BoardDesk, type BoardToolParts, createDesk } from "./board-tool.ts";
import { createCreate } from "./create-tool.ts";
import { createAttachments, createList, createShow } from "./look-tools.ts";
import { createAttach, createComment, createLink, createUnblock } from "./share-tools.ts";
import { createBlock, createComplete, createHeartbeat } from "./work-tools.ts";

type Maker = (desk: BoardDesk) => Tool;

const WORKER: readonly Maker[] = [
  createShow,
  createComplete,
  createBlock,
  createHeartbeat,
  createComment,
  createAttach,
  createAttachments,
  createCreate,
  createLink,
];
const ORCHESTRATOR: readonly Maker[] = [
  createShow,
  createList,
  createComment,
  createAttach,
  createAttachments,
  createCreate,
  createLink,
  createUnblock,
];

/** Who has which tools. What is missing here the store would refuse as well. */
const MAKERS: Readonly<Record<Caller["kind"], readonly Maker[]>> = {
  run: WORKER,
  agent: ORCHESTRATOR,
  operator: [...ORCHESTRATOR, createComplete, createBlock],
  delegate: [createShow, createAttachments],
  system: [],
};

/** The tools by which a model works with a board, as its caller may. */
export function createBoardTools(parts: BoardToolParts): readonly Tool[] {
  const desk = createDesk(parts);
  return MAKERS[parts.caller.kind].map((make) => make(desk));
}
