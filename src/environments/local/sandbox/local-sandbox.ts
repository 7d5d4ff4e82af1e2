import { existsSync, watch } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { AppError } from "../../../lib/errors.ts";
import type { Transport } from "../../channel/channel.ts";
import type { Environment } from "../../environment.ts";
import type { TerminalOptions } from "../../options.ts";
import { bubblewrapCommand, probeSandbox } from "./bubblewrap.ts";
import { createDenialWatch, explainDenial } from "./explain-denial.ts";
import { planSandbox, type SandboxPlan } from "./plan-sandbox.ts";
import { type RepositoryWatch, watchRepositories } from "./repository-watch.ts";
import { openSandboxFolder } from "./sandbox-folder.ts";
import { type SandboxHub, startHub } from "./sandbox-hub.ts";
import { sandboxVariables } from "./sandbox-variables.ts";

export interface LocalSandboxParts {
  readonly options: TerminalOptions;
  /** The variables of commands without a sandbox. */
  readonly variables: Readonly<Record<string, string>>;
  readonly hermesHomes: readonly [root: string, profile: string];
  readonly cwd: string;
  /** Receives notices for the user; the model gets the same notices with the result of a command. */
  readonly onNotice?: ((text: string) => void) | undefined;
}

export interface LocalSandbox extends AsyncDisposable {
  /** Starts a shell in the sandbox; the first one creates the sandbox. */
  transport(signal: AbortSignal): Promise<Transport>;
  /** Combines the environments inside and outside the sandbox into one that explains refusals. */
  combine(inside: Environment, outside: Environment): Environment;
}

/** Plans the sandbox and checks whether this machine can create it. Leaves no files behind. */
export async function inspectSandbox(
  parts: LocalSandboxParts,
  signal: AbortSignal,
): Promise<{ readonly plan: SandboxPlan; readonly problem: AppError | undefined }> {
  const { variables } = parts;
  const temporary = await mkdtemp(join(variables["TMPDIR"] || "/tmp", "hermes-probe-"));
  try {
    const blankFile = join(temporary, "blank");
    await writeFile(blankFile, "", { mode: 0 });
    const plan = await planSandbox({ ...parts, temporary });
    // Bubblewrap would create this mount point in the project.
    const mounts = plan.mounts.filter(({ path }) => path !== plan.placeholder);
    return {
      plan,
      problem: await probeSandbox({ ...plan, mounts }, { blankFile }, variables, signal),
    };
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

export function openLocalSandbox(parts: LocalSandboxParts): LocalSandbox {
  const { options, onNotice = () => undefined } = parts;
  const env = sandboxVariables(parts.variables, options.env_passthrough);
  let created: Promise<{ readonly hub: SandboxHub; close(): Promise<void> }> | undefined;
  let plan: SandboxPlan | undefined;
  let repositories: RepositoryWatch | undefined;
  const removedBetween: string[] = [];

  async function create(signal: AbortSignal) {
    const [, profileHome] = parts.hermesHomes;
    const folder = await openSandboxFolder(profileHome, parts.variables["TMPDIR"] || "/tmp");
    const planned = await planSandbox({ ...parts, temporary: folder.temporary });
    const channels = await folder.createChannels();
    const watching = watchForbidden(planned.forbiddenFiles, (notices) => removedBetween.push(...notices));
    const found = watchRepositories(planned.writable, planned.nestedRepositories, onNotice);
    const close = async (): Promise<void> => {
      watching[Symbol.dispose]();
      await found[Symbol.asyncDispose]();
      await folder.remove(channels, planned.placeholder);
    };
    try {
      const sandbox = bubblewrapCommand(planned, { blankFile: folder.blankFile, channels }, []);
      const { mode, mkfifo } = planned;
      const hub = await startHub({ sandbox, mkfifo, mode, env, channels }, signal);
      plan = planned;
      repositories = found;
      return { hub, close };
    } catch (error) {
      await close();
      throw error;
    }
  }

  async function open(signal: AbortSignal): Promise<SandboxHub> {
    const last = await created?.catch(() => undefined);
    if (last?.hub.isOpen !== true) {
      created = create(signal);
      await last?.close();
    }
    const { hub } = await (created ?? create(signal));
    return hub;
  }

  const reported = new Set<string>();
  /** Reports each new file that other programs would obey, once. */
  function reportCreated(): string[] {
    const created = (plan?.absentFiles ?? []).filter((path) => !reported.has(path) && existsSync(path));
    const notices = created.map(
      (path) =>
        `A command in the sandbox created ${path}, which programs outside the sandbox obey. The user should inspect it before running them.`,
    );
    for (const path of created) reported.add(path);
    for (const notice of notices) onNotice(notice);
    return notices;
  }

  let opening: Promise<unknown> = Promise.resolve();

  return {
    async transport(signal) {
      const hub = opening.then(() => open(signal));
      opening = hub.catch(() => undefined); // several channels may need the sandbox at once
      return { argv: ["bwrap"], env, startedShell: await (await hub).startShell() };
    },
    combine(inside, outside) {
      return {
        openSession: inside.openSession,
        warm: inside.warm,
        outside,
        explainRefusal: (message) => plan && explainDenial(plan, message),
        async run(request, signal) {
          const watch = createDenialWatch();
          const result = await inside.run(
            {
              ...request,
              onOutput(stream, bytes) {
                watch.see(bytes);
                return request.onOutput(stream, bytes);
              },
            },
            signal,
          );
          const found = await removeForbidden(plan?.forbiddenFiles ?? []);
          const removed = [...new Set([...removedBetween.splice(0), ...found])];
          const reason = plan && result.exitCode !== 0 ? watch.explain(plan) : undefined;
          const findings = repositories?.takeFindings() ?? [];
          const added = [...removed, ...reportCreated(), ...findings, ...(reason ? [reason] : [])];
          return added.length === 0 ? result : { ...result, notices: [...result.notices, ...added] };
        },
        get runningCommands() {
          return inside.runningCommands + outside.runningCommands;
        },
        async [Symbol.asyncDispose]() {
          await Promise.all([inside[Symbol.asyncDispose](), outside[Symbol.asyncDispose]()]);
        },
      };
    },
    async [Symbol.asyncDispose]() {
      const last = await created?.catch(() => undefined);
      await last?.hub[Symbol.asyncDispose]();
      await last?.close();
    },
  };
}

/** Removes these files as soon as they appear, because a background command can create them at any time. */
function watchForbidden(
  paths: readonly string[],
  onRemoved: (notices: readonly string[]) => void,
): Disposable {
  const watchers = [...new Set(paths.map((path) => dirname(path)))].map(
    (folder) =>
      watch(folder, { persistent: false }, () => {
        if (paths.some((path) => existsSync(path))) void removeForbidden(paths).then(onRemoved);
      }).on("error", () => undefined), // the folder was removed
  );
  return {
    [Symbol.dispose]: () => {
      for (const watcher of watchers) watcher.close();
    },
  };
}

/** Removes files with which a command could make git outside the sandbox run another program. */
async function removeForbidden(paths: readonly string[]): Promise<string[]> {
  const removed: string[] = [];
  for (const path of paths) {
    const isRemoved = await rm(path, { recursive: true }).then(
      () => true,
      () => false, // nearly always because it does not exist
    );
    if (isRemoved)
      removed.push(`The sandbox removed ${path}, because it would change which hooks and settings git uses.`);
  }
  return removed;
}
