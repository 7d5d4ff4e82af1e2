import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

/**
 * The parts that each part may import, by the first folder below src/. A part may always import itself. If the value is a list of
 * files, only those files of the other part may be imported.
 */
const ALLOWED: Record<string, Record<string, readonly string[] | "all">> = {
  lib: {},
  providers: { lib: "all" },
  environments: { lib: "all" },
  tools: {
    lib: "all",
    policy: ["decision.ts", "guarded-files.ts"],
    environments: [
      "environment.ts",
      "output-window.ts",
      "files/change-files.ts",
      "files/environment-files.ts",
      "files/file-problem.ts",
      "files/text-format.ts",
      "files/text-page.ts",
      "jobs/job.ts",
      "jobs/jobs.ts",
    ],
  },
  policy: { lib: "all" },
  approvals: { lib: "all", policy: ["decision.ts"] },
  agent: {
    lib: "all",
    approvals: ["approval.ts"],
    policy: ["decision.ts"],
    providers: ["provider.ts", "message.ts"],
    tools: ["tool.ts", "find-tool.ts"],
  },
  sessions: {
    lib: "all",
    agent: ["events.ts"],
    approvals: "all",
    policy: ["decision.ts"],
    providers: ["message.ts", "provider.ts"],
  },
  board: {
    lib: "all",
    approvals: ["approval.ts", "clarification.ts"],
    policy: ["decision.ts"],
    providers: "all",
    environments: "all",
    tools: "all",
    agent: "all",
    sessions: "all",
  },
  // Adds to a message what its references refer to.
  context: {
    lib: "all",
    environments: [
      "channel/quote.ts",
      "environment.ts",
      "files/environment-files.ts",
      "files/file-problem.ts",
    ],
    policy: ["guarded-files.ts"],
    providers: ["image.ts", "message.ts"],
    tools: ["tool.ts", "with-call.ts", "tool-parts.ts", "files/describe-problem.ts"],
  },
  // Saves a project's files before a turn changes them.
  checkpoints: { lib: "all", tools: ["tool.ts"] },
  gateway: {
    lib: "all",
    providers: "all",
    environments: "all",
    tools: "all",
    policy: "all",
    approvals: "all",
    agent: "all",
    sessions: "all",
    conversation: "all",
    turns: "all",
  },
  // Runs the turns of a server: the gateway, the API and the dashboard share one host.
  turns: {
    lib: "all",
    agent: ["events.ts", "turn-limits.ts"],
    approvals: ["approval.ts"],
    conversation: ["conversation.ts", "conversation-request.ts", "open-conversation.ts"],
    providers: ["message.ts", "provider.ts", "routes/choose-provider.ts"],
  },
  profiles: { lib: "all" },
  // Connects an agent, its session and its environment, in the same way for every surface.
  conversation: {
    lib: "all",
    checkpoints: "all",
    context: "all",
    providers: "all",
    environments: "all",
    tools: "all",
    agent: "all",
    approvals: "all",
    policy: "all",
    sessions: "all",
  },
  // Each part owns its options; the schema only composes them.
  config: { lib: "all", "*": ["options.ts", "tool-output-options.ts"] },
  // Serves HTTP. app/ passes everything that it needs, so it reads no settings and opens no profile.
  api: {
    lib: "all",
    agent: "all",
    approvals: "all",
    board: "all",
    conversation: "all",
    environments: "all",
    policy: "all",
    providers: "all",
    profiles: "all",
    sessions: "all",
    tools: ["tool.ts"],
    turns: "all",
  },
  // Checks of the machine and of a profile; commands and the dashboard show its findings.
  doctor: { "*": "all" },
  cli: { "*": "all" },
  app: { "*": "all" },
  "main.ts": { "*": "all" },
  "load-program.ts": { cli: "all" },
  "version.ts": {},
};
/** Parts that only the entry points may import, even where "*" would allow it. `app` may import `api`, because it starts it. */
const ENTRY_ONLY = new Set(["cli", "api", "main.ts"]);

// Static, type-only, re-exporting and dynamic imports of relative paths.
const IMPORT = /(?:^|[^.\w])(?:from|import)\s*\(?\s*["'](\.[^"']+)["']/g;

export interface Module {
  readonly path: string;
  readonly imports: readonly string[];
}

/** Returns every violation of the table and every import cycle, as lines. Throws if there are no modules. */
export function findBreaches(source: string): string[] {
  const modules = readModules(source);
  if (modules.length === 0) throw new Error(`no modules found below ${source}`);
  return [...modules.flatMap(breachesOf), ...findCycles(modules)];
}

/** All modules below a folder and their imports, as paths relative to that folder. */
export function readModules(source: string): Module[] {
  const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((file) =>
    /\.tsx?$/.test(file),
  );
  return files.map((path) => {
    const text = readFileSync(join(source, path), "utf8").replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
    const targets = [...text.matchAll(IMPORT)].map((match) => resolve(source, dirname(path), match[1] ?? ""));
    return { path, imports: targets.map((target) => relative(source, target)) };
  });
}

function breachesOf({ path, imports }: Module): string[] {
  const from = partOf(path);
  const table = ALLOWED[from];
  if (!table) return [`${path}: ${from} is not a part; add it to the table in scripts/imports.ts`];
  // A test may also import test support, which is outside of src.
  const isTest = /\.(test|contract)\.tsx?$/.test(path);
  return imports.flatMap((target) => {
    const to = partOf(target);
    if (target.startsWith(".."))
      return isTest || from === "version.ts" ? [] : [`${path} reaches outside src: ${target}`];
    // The browser app imports the types of these files, so everything that they import would become part of it.
    if (path.startsWith("api/contract/") && !isTest && !target.startsWith("api/contract/"))
      return [`${path} may not import ${target}`];
    if (to === from || isAllowed(table, from, to, target)) return [];
    return [`${path} may not import ${target}`];
  });
}

function isAllowed(
  table: Record<string, readonly string[] | "all">,
  from: string,
  to: string,
  target: string,
): boolean {
  // The chat and the API have options like other parts.
  if (from === "config" && /^(cli\/chat|api)\/options\.ts$/.test(target)) return true;
  if (from === "app" && to === "api") return true;
  // Commands share the shapes of requests and answers, as the browser app does.
  if (target.startsWith("api/contract/")) return ["api", "app", "cli"].includes(from);
  if (ENTRY_ONLY.has(to)) return from === "main.ts" || from === "load-program.ts";
  const open = table[to] ?? table["*"];
  if (open === undefined) return false;
  return open === "all" || open.includes(target.split("/").slice(1).join("/"));
}

export function findCycles(modules: readonly Module[]): string[] {
  const graph = new Map(modules.map((module) => [module.path, module.imports]));
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    if (done.has(path)) return;
    const start = trail.indexOf(path);
    if (start !== -1) {
      found.push(`import cycle: ${[...trail.slice(start), path].join(" → ")}`);
      return;
    }
    for (const target of graph.get(path) ?? []) visit(target, [...trail, path]);
    done.add(path);
  };
  for (const path of graph.keys()) visit(path, []);
  return found;
}

function partOf(path: string): string {
  return path.split("/")[0] ?? path;
}
