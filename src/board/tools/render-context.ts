import type { FoundFile } from "../attachments/attachment-content.ts";
import type { WorkerContext } from "../operations/worker-context.ts";
import type { Attachment } from "../task.ts";

const MINUTE = 60_000;

/** What the reader of a context calls the places that it names. */
export interface ReaderView {
  /** The folder of the work, where it is known. */
  readonly workspace: string | undefined;
  /** Where the files can be read, by the id of the attachment. */
  readonly files: ReadonlyMap<number, FoundFile>;
}

/** All that a worker is told about its task, in words. What others wrote stands apart and is named as theirs. */
export function renderContext(context: WorkerContext, { workspace, files }: ReaderView): string {
  return [
    header(context, workspace),
    section("Body", context.body),
    section("Attachments", fileLines(context.attachments, files).join("\n")),
    section(`Earlier attempts${omitted(context.omittedAttempts)}`, attempts(context)),
    section("Results of parents (a snapshot: check again before you rely on it)", parents(context, files)),
    section("Finished lately by the same profile", elsewhere(context)),
    section(`Comments${omitted(context.omittedComments)}`, comments(context)),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

function header({ task }: WorkerContext, workspace = task.workspace_path): string {
  const facts: readonly (readonly [string, string | number | null])[] = [
    ["Status", task.status],
    ["Assignee", task.assignee],
    ["Tenant", task.tenant],
    ["Workspace", workspace === null ? task.workspace_kind : `${task.workspace_kind} ${workspace}`],
    ["Branch", task.branch_name],
    ["Longest run", task.max_runtime_seconds === null ? null : `${task.max_runtime_seconds} s`],
  ];
  const lines = facts.flatMap(([name, value]) => (value === null ? [] : [`${name}: ${value}`]));
  return [`# ${task.id}: ${task.title}`, ...lines].join("\n");
}

function fileLines(attachments: readonly Attachment[], files: ReadonlyMap<number, FoundFile>): string[] {
  return attachments.map(({ id, filename, content_type, size }) => {
    const found = files.get(id) ?? { problem: "it is not there" };
    const where = "path" in found ? found.path : `cannot be read here (${found.problem})`;
    return `- ${filename} (${content_type ?? "unknown type"}, ${Math.ceil(size / 1_024)} KB): ${where}`;
  });
}

function attempts({ attempts, now }: WorkerContext): string {
  return attempts
    .map(({ id, outcome, profile, ended_at, summary, error, metadata }) => {
      const when =
        ended_at === null ? "" : `, ${new Date(ended_at).toISOString()} (${age(now - ended_at)} ago)`;
      return lines(`Run ${id}: ${outcome} by ${profile ?? "nobody"}${when}`, { summary, error, metadata });
    })
    .join("\n");
}

function parents({ parents }: WorkerContext, files: ReadonlyMap<number, FoundFile>): string {
  return parents
    .flatMap(({ taskId, title, ageMs, summary, metadata, attachments }) => {
      const handoff = lines(`${taskId} (${title}), done ${age(ageMs)} ago`, { summary, metadata });
      return [handoff, ...(attachments.length > 0 ? ["files:"] : []), ...fileLines(attachments, files)];
    })
    .join("\n");
}

function elsewhere(context: WorkerContext): string {
  return context.elsewhere.map(({ taskId, summary }) => `- ${taskId}: ${summary}`).join("\n");
}

/** Framed one by one: a comment is something that somebody said, not an instruction of ours. */
function comments({ comments, now }: WorkerContext): string {
  return comments
    .map(({ author, body, created_at }) => {
      return `comment from \`${author.replaceAll("`", "")}\`, ${age(now - created_at)} ago:\n${quoted(body)}`;
    })
    .join("\n");
}

function section(title: string, text: string | null): string {
  return text === null || text === "" ? "" : `## ${title}\n${text}`;
}

function lines(head: string, texts: Readonly<Record<string, string | null>>): string {
  const more = Object.entries(texts).flatMap(([name, text]) =>
    text === null ? [] : [`${name}:\n${quoted(text)}`],
  );
  return [head, ...more].join("\n");
}

function quoted(text: string): string {
  return text.replace(/^/gm, "> ");
}

function omitted(count: number): string {
  return count === 0 ? "" : ` (${count} older ones left out)`;
}

function age(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / MINUTE));
  if (minutes < 120) return `${minutes} min`;
  return minutes < 2_880 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1_440)} days`;
}
