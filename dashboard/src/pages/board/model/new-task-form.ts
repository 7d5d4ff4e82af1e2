import type { NewTask } from "../../../../../src/api/contract/tasks.ts";

/** The fields of the dialog for a new task, as typed. */
export interface NewTaskForm {
  readonly title: string;
  readonly body: string;
  readonly assignee: string;
  readonly priority: string;
  readonly parents: readonly { readonly id: string; readonly seq: number; readonly title: string }[];
  readonly start: "now" | "triage" | "hold" | "at";
  /** In the browser's local time. */
  readonly at: string;
  readonly tenant: string;
  readonly model: string;
  readonly provider: string;
  readonly effort: string;
  readonly workspace: "scratch" | "dir" | "worktree";
  readonly path: string;
  readonly branch: string;
  readonly skills: string;
  /** Minutes. */
  readonly runtime: string;
  readonly retries: string;
}

const EMPTY: NewTaskForm = {
  title: "",
  body: "",
  assignee: "",
  priority: "0",
  parents: [],
  start: "now",
  at: "",
  tenant: "",
  model: "",
  provider: "",
  effort: "",
  workspace: "scratch",
  path: "",
  branch: "",
  skills: "",
  runtime: "",
  retries: "",
};

/** Reads a stored form; returns an empty one if there is none. */
export function parseForm(draft: string | undefined): NewTaskForm {
  try {
    return { ...EMPTY, ...(JSON.parse(draft ?? "{}") as Partial<NewTaskForm>) };
  } catch {
    return EMPTY;
  }
}

/** Turns the form into a request; empty fields are omitted. */
export function newTaskOf(form: NewTaskForm): NewTask {
  const text = (name: "body" | "assignee" | "tenant" | "model" | "provider" | "branch" | "path") => {
    const value = form[name].trim();
    return value === "" ? undefined : value;
  };
  const body = text("body");
  const assignee = text("assignee");
  const tenant = text("tenant");
  const model = text("model");
  const provider = text("provider");
  const path = form.workspace === "scratch" ? undefined : text("path");
  const branch = form.workspace === "worktree" ? text("branch") : undefined;
  const skills = form.skills
    .split(",")
    .map((skill) => skill.trim())
    .filter(Boolean);
  const at = new Date(form.at).getTime();
  const runtime = Number(form.runtime);
  const retries = Number(form.retries);
  return {
    title: form.title.trim(),
    ...(body !== undefined && { body }),
    ...(assignee !== undefined && { assignee }),
    ...(form.priority !== "0" && { priority: Number(form.priority) }),
    ...(form.parents.length > 0 && { parents: form.parents.map(({ id }) => id) }),
    ...(tenant !== undefined && { tenant }),
    ...(form.start === "triage" && { triage: true }),
    ...(form.start === "hold" && { hold: true }),
    ...(form.start === "at" && !Number.isNaN(at) && { scheduledAt: at }),
    ...(form.workspace !== "scratch" && { workspaceKind: form.workspace }),
    ...(path !== undefined && { workspacePath: path }),
    ...(branch !== undefined && { branch }),
    ...(model !== undefined && { model }),
    ...(provider !== undefined && { provider }),
    ...(form.effort !== "" && { reasoningEffort: form.effort }),
    ...(skills.length > 0 && { skills }),
    ...(runtime > 0 && { maxRuntimeSeconds: Math.round(runtime * 60) }),
    ...(retries > 0 && { maxRetries: Math.round(retries) }),
  };
}
