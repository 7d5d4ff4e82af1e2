import { createHash } from "node:crypto";
import { type App, boardsPlace } from "../../../../app.ts";
import type { BoardStore } from "../../../../board/board-store.ts";
import type { DispatchHost, ModelChoice, Runnable } from "../../../../board/dispatcher/host.ts";
import { openHostSlots } from "../../../../board/dispatcher/host-slots.ts";
import { removeLeftGroups } from "../../../../board/worker/run-cgroup.ts";
import { boardMark } from "../../../../board/worker/run-mark.ts";
import { createWorkerHost } from "../../../../board/worker/worker-host.ts";
import { loadConfig, requireUsable } from "../../../../config/load.ts";
import { systemClock } from "../../../../lib/clock.ts";
import { messageOf } from "../../../../lib/errors.ts";
import { readHostFacts } from "../../../../lib/host-facts.ts";
import { requireProfile } from "../../../../profiles/profile.ts";
import { resolveRoute } from "../../../../providers/resolve-route.ts";
import type { CommandContext } from "../../../context.ts";

/** This machine as the dispatcher of one board needs it, with the settings of the profile that dispatches. */
export async function createAppHost(
  app: App,
  store: BoardStore,
  { variables, userHome, signal }: Pick<CommandContext, "variables" | "userHome" | "signal">,
): Promise<DispatchHost & Disposable> {
  const { kanban } = app.resolved.config;
  const { root } = app.profile;
  const { hostId } = await readHostFacts(signal);
  await removeLeftGroups(boardMark(store.identity), Date.now());
  const slots = openHostSlots({ root, host: hostId, board: store.identity }, systemClock);
  const host = createWorkerHost({
    id: hostId,
    slots,
    place: { ...boardsPlace(app), slug: store.slug },
    board: store.identity,
    program: ownProgram(variables),
    dispatchedBy: app.profile.name,
    variables,
    userHome,
    log: { maxBytes: kanban.worker_log_rotate_bytes, backups: kanban.worker_log_backup_count },
    policy: {
      failureLimit: kanban.failure_limit,
      failureRetryMs: kanban.failure_retry_seconds * 1_000,
      rateLimitCooldownMs: kanban.rate_limit_cooldown_seconds * 1_000,
    },
    requireProfile: (name) => requireProfile(root, name),
    runnable: (name) => findRunnable(root, name),
    routeOf: (name, wanted) => routeOf(root, name, wanted, name === app.profile.name ? variables : {}),
    defaultWorkdir: async (within) =>
      (await store.board(within)).default_workdir ?? (kanban.default_workdir || null),
  });
  return { ...host, [Symbol.dispose]: () => slots[Symbol.dispose]() };
}

/** How this program is called again: HERMES_BIN, or the very file that runs now. */
export function ownProgram(variables: CommandContext["variables"]): readonly [string, ...string[]] {
  const { HERMES_BIN: chosen } = variables;
  if (chosen !== undefined && chosen !== "") return [chosen];
  return [process.execPath, ...process.execArgv, process.argv[1] ?? ""];
}

/** A profile can work when it exists and its settings can be read; a missing key is the worker's own failure. */
async function findRunnable(root: string, name: string): Promise<Runnable> {
  try {
    const { configPath, envPath } = await requireProfile(root, name);
    requireUsable(await loadConfig({ configPath, envPath, variables: {}, flags: new Map() }));
    return { ok: true };
  } catch (error) {
    return { ok: false, reason: messageOf(error) };
  }
}

/**
 * A hash of all that decides whether a provider lets a worker in. One that gets nowhere by its settings alone shares
 * that with nobody but those who ask the same of the same profile.
 */
async function routeOf(
  root: string,
  name: string,
  { model_override: model, provider_override: provider }: ModelChoice,
  variables: CommandContext["variables"],
): Promise<string> {
  const { configPath, envPath } = await requireProfile(root, name);
  const { config, variable } = await loadConfig({ configPath, envPath, variables, flags: new Map() });
  let facts: readonly unknown[] = [name, provider, model];
  try {
    const route = resolveRoute(
      config,
      { model: model ?? undefined, provider: provider ?? undefined },
      variable,
    );
    facts = [route.provider, route.baseUrl, route.model, route.key];
  } catch {
    // The worker says it better, in its log and on its task.
  }
  return createHash("sha256").update(JSON.stringify(facts)).digest("hex").slice(0, 16);
}
