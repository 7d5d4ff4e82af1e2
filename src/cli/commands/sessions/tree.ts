import { formatDuration } from "../../../lib/time/format-time.ts";
import { excerptOf } from "../../../sessions/search/snippet.ts";
import type { FamilyMember } from "../../../sessions/session-list.ts";
import type { CommandContext, JsonOption } from "../../context.ts";
import { escapeControls } from "../../terminal/escape-controls.ts";
import { cutText } from "../../terminal/fit-text.ts";
import { findStore, openRedactor, requireSession, requireStore } from "./require-session.ts";

interface TreeNode extends FamilyMember {
  readonly children: readonly TreeNode[];
}

/** Prints sessions below the sessions that they branched from: the family of one session, or all families. */
export async function showTree(
  context: CommandContext,
  which: string | undefined,
  { json }: JsonOption,
): Promise<void> {
  const { terminal } = context;
  using store = which === undefined ? await findStore(context) : await requireStore(context);
  const selected = which === undefined || store === undefined ? undefined : requireSession(store, which).id;
  const members = (selected === undefined ? store?.list.families() : store?.list.family(selected)) ?? [];
  const roots = toTree(members);
  if (json) return terminal.printJson(roots);
  if (store === undefined || roots.length === 0) {
    terminal.note("`hermes sessions branch SESSION` creates a branch.");
    return terminal.print("No session has branches.");
  }
  const now = Date.now();
  const { redact } = await openRedactor(context);
  const nameOf = (node: TreeNode): string =>
    node.title ?? excerptOf(store.list.describe(node, redact).opening, 60);
  const lines = roots.flatMap((root) =>
    renderNode(root, "", "", (node) => describe(node, nameOf(node), now, selected)),
  );
  for (const line of lines) terminal.print(cutText(line, terminal.columns ?? Number.POSITIVE_INFINITY));
}

/** Nests the members below their parents. A member whose parent is not among them is a root. */
function toTree(members: readonly FamilyMember[]): TreeNode[] {
  const nodes = new Map(members.map((one) => [one.id, { ...one, children: [] as TreeNode[] }]));
  const roots: TreeNode[] = [];
  for (const node of nodes.values()) (nodes.get(node.parent ?? "")?.children ?? roots).push(node);
  return roots;
}

function renderNode(
  node: TreeNode,
  first: string,
  rest: string,
  describeNode: (node: TreeNode) => string,
): string[] {
  const last = node.children.length - 1;
  return [
    `${first}${describeNode(node)}`,
    ...node.children.flatMap((child, index) =>
      index === last
        ? renderNode(child, `${rest}└─ `, `${rest}   `, describeNode)
        : renderNode(child, `${rest}├─ `, `${rest}│  `, describeNode),
    ),
  ];
}

function describe(node: TreeNode, name: string, now: number, selected: string | undefined): string {
  const turns = node.turns === 1 ? "1 turn" : `${node.turns} turns`;
  const facts = [
    turns,
    `${formatDuration(now - node.activeAt)} ago`,
    ...(node.archivedAt === undefined ? [] : ["archived"]),
  ];
  const mark = node.id === selected ? " ←" : "";
  return `${node.id}${mark}  ${facts.join(", ")}  ${escapeControls(name)}`;
}
