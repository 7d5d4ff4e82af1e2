import type { LocatedFile } from "../attachments/attachment-content.ts";
import type { WorkerContext } from "../operations/views/worker-context.ts";
import type { Attachment } from "../task.ts";

const MINUTE = 60_000;

/** The paths in a context as its reader sees them. */
export interface ReaderPaths {
  /** The workspace folder, if known. */
  readonly workspace: string | undefined;
  /** The location of each file by attachment id. */
  readonly files: ReadonlyMap<number, LocatedFile>;
}

/** Renders the context of a task as text for a model. Text by other authors is quoted and attributed. */
export function renderContext(context: WorkerContext, { workspace, files }: ReaderPaths): string {
  return [
    renderHeader(context, workspace),
    renderSection("Body", context.body),
    renderSection("Attachments", fileLines(context.attachments, files).join("\n")),
    renderSection(`Earlier attempts${formatOmitted(context.omittedAttempts)}`, renderAttempts(context)),
    renderSection(
      "Results of parents (may be outdated: verify before you rely on them)",
      renderParents(context, files),
    ),
    renderSection("Recently finished by the same profile", renderRecentRuns(context)),
    renderSection(`Comments${formatOmitted(context.omittedComments)}`, renderComments(context)),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

function renderHeader({ task }: WorkerContext, workspace = task.workspace_path): string {
  const facts: readonly (readonly [string, string | number | null])[] = [
    ["Status", task.status],
    ["Assignee", task.assignee],
    ["Tenant", task.tenant],
    ["Workspace", workspace === null ? task.workspace_kind : `${task.workspace_kind} ${workspace}`],
    ["Branch", task.branch_name],
    ["Time limit", task.max_runtime_seconds === null ? null : `${task.max_runtime_seconds} s`],
  ];
  const lines = facts.flatMap(([name, value]) => (value === null ? [] : [`${name}: ${value}`]));
  return [`# ${task.id}: ${task.title}`, ...lines].join("\n");
}

function fileLines(attachments: readonly Attachment[], files: ReadonlyMap<number, LocatedFile>): string[] {
  return attachments.map(({ id, filename, content_type, size }) => {
    const found = files.get(id) ?? { problem: "the file is missing" };
    const where = "path" in found ? found.path : `cannot be read here (${found.problem})`;
    return `- ${filename} (${content_type ?? "unknown type"}, ${Math.ceil(size / 1_024)} KB): ${where}`;
  });
}

function renderAttempts({ attempts, now }: WorkerContext): string {
  return attempts
    .map(({ id, outcome, profile, ended_at, summary, error, metadata }) => {
      const when =
        ended_at === null ? "" : `, ${new Date(ended_at).toISOString()} (${formatAge(now - ended_at)} ago)`;
      return lines(`Run ${id}: ${outcome} by ${profile ?? "unknown"}${when}`, { summary, error, metadata });
    })
    .join("\n");
}

function renderParents({ parents }: WorkerContext, files: ReadonlyMap<number, LocatedFile>): string {
  return parents
    .flatMap(({ taskId, title, ageMs, summary, metadata, attachments }) => {
      const handoff = lines(`${taskId} (${title}), done ${formatAge(ageMs)} ago`, { summary, metadata });
      return [handoff, ...(attachments.length > 0 ? ["files:"] : []), ...fileLines(attachments, files)];
    })
    .join("\n");
}

function renderRecentRuns(context: WorkerContext): string {
  return context.recentRunsOfProfile.map(({ taskId, summary }) => `- ${taskId}: ${summary}`).join("\n");
}

/** Quotes each comment with its author, so that the model does not take it for an instruction. */
function renderComments({ comments, now }: WorkerContext): string {
  return comments
    .map(({ author, body, created_at }) => {
      return `comment from \`${author.replaceAll("`", "")}\`, ${formatAge(now - created_at)} ago:\n${quote(body)}`;
    })
    .join("\n");
}

function renderSection(title: string, text: string | null): string {
  return text === null || text === "" ? "" : `## ${title}\n${text}`;
}

function lines(head: string, texts: Readonly<Record<string, string | null>>): string {
  const more = Object.entries(texts).flatMap(([name, text]) =>
    text === null ? [] : [`${name}:\n${quote(text)}`],
  );
  return [head, ...more].join("\n");
}

function quote(text: string): string {
  return text.replace(/^/gm, "> ");
}

function formatOmitted(count: number): string {
  return count === 0 ? "" : ` (${count} older ones omitted)`;
}

function formatAge(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / MINUTE));
  if (minutes < 120) return `${minutes} min`;
  return minutes < 2_880 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1_440)} days`;
}
