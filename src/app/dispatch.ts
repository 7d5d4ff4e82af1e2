import { createHash } from "node:crypto";
import { type BoardStore, openBoardStore } from "../board/board-store.ts";
import type { Announcements } from "../board/database/postgres-announcements.ts";
import type { ModelChoice, ProfileCheck } from "../board/dispatcher/dispatch-host.ts";
import { openHostSlots } from "../board/dispatcher/host-slots.ts";
import { hasExited } from "../board/dispatcher/live-dispatchers.ts";
import type { PassParts } from "../board/dispatcher/pass-parts.ts";
import type { DispatchedBoard } from "../board/dispatcher/run-dispatcher.ts";
import { removeLeftoverGroups } from "../board/supervisor/run-cgroup.ts";
import { createWorkerHost } from "../board/supervisor/worker-host.ts";
import { watchBoard } from "../board/watch-board.ts";
import { boardMark } from "../board/worker/run-mark.ts";
import { loadConfig, requireUsable } from "../config/load-config.ts";
import { messageOf } from "../lib/errors.ts";
import { readHostFacts } from "../lib/process/host-facts.ts";
import { readOwnIdentity, serialiseIdentity } from "../lib/process/process-identity.ts";
import { systemClock } from "../lib/time/clock.ts";
import { requireProfile } from "../profiles/profile.ts";
import { resolveRoute } from "../providers/routes/resolve-route.ts";
import type { App } from "./app.ts";
import { boardsLocation, loadDefaultWorkdir } from "./board.ts";
import { readRouteSettings } from "./conversation.ts";
import { policyOf } from "./dispatch-policy.ts";
import { tryReclaimSandboxesOfTask } from "./environments/leftover-sandboxes.ts";

/** The identity of this dispatcher process, and the check whether another dispatcher has exited. */
export async function ownDispatcher(
  signal: AbortSignal,
): Promise<Pick<PassParts, "owner" | "isDead" | "clock" | "random">> {
  return {
    owner: serialiseIdentity(await readOwnIdentity(signal)),
    isDead: hasExited,
    clock: systemClock,
    random: Math.random,
  };
}

/** Opens a board for dispatching from this machine, with the settings of the dispatching profile. */
export async function openDispatch(
  { app, store }: { readonly app: App; readonly store: BoardStore },
  signal: AbortSignal,
): Promise<Disposable & PassParts> {
  const { profile, resolved, variables, userHome } = app;
  const { kanban } = resolved.config;
  const { root } = profile;
  const { hostId } = await readHostFacts(signal);
  await removeLeftoverGroups(boardMark(store.identity), Date.now());
  const slots = openHostSlots({ root, host: hostId, board: store.identity }, systemClock);
  const host = createWorkerHost({
    id: hostId,
    slots,
    location: { ...boardsLocation(app), slug: store.slug },
    board: store.identity,
    program: ownProgram(variables),
    dispatchedBy: profile.name,
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
    routeOf: (name, wanted) => routeOf(root, name, wanted, name === profile.name ? variables : {}),
    defaultWorkdir: (within) => loadDefaultWorkdir(app, store, within),
  });
  return {
    ...(await ownDispatcher(signal)),
    board: store.forDispatcher,
    host: {
      ...host,
      async terminate(run, within) {
        const result = await host.terminate(run, within);
        // The supervisor may have been killed too, and then no other process removes the sandbox of its worker.
        if (result === "gone")
          await tryReclaimSandboxesOfTask(app, { profile: run.profile, taskId: run.task_id }, within);
        return result;
      },
    },
    policy: policyOf(app),
    [Symbol.dispose]: () => slots[Symbol.dispose](),
  };
}

/** Opens a board for a dispatcher that makes many passes over it. */
export async function openDispatchedBoard(
  app: App,
  slug: string,
  announcements: Announcements | undefined,
  signal: AbortSignal,
): Promise<DispatchedBoard & { readonly store: BoardStore }> {
  const location = { ...boardsLocation(app), slug };
  const store = await openBoardStore(location, {}, signal);
  try {
    const dispatch = await openDispatch({ app, store }, signal);
    const watch = watchBoard(location, dispatch.board, systemClock, announcements);
    return {
      ...dispatch,
      store,
      watch,
      async [Symbol.asyncDispose]() {
        watch[Symbol.dispose]();
        dispatch[Symbol.dispose]();
        await store[Symbol.asyncDispose]();
      },
    };
  } catch (error) {
    await store[Symbol.asyncDispose]();
    throw error;
  }
}

/** The command that starts this program again: HERMES_BIN, or the running file. */
function ownProgram({ HERMES_BIN: chosen }: App["variables"]): readonly [string, ...string[]] {
  return chosen ? [chosen] : [process.execPath, ...process.execArgv, process.argv[1] ?? ""];
}

/** A profile is runnable if it exists and its settings are usable; a missing key is reported by the worker. */
async function findRunnable(root: string, name: string): Promise<ProfileCheck> {
  try {
    requireUsable(await loadConfig(await requireProfile(root, name)));
    return { ok: true };
  } catch (error) {
    return { ok: false, reason: messageOf(error) };
  }
}

/**
 * A hash of everything that decides whether a provider accepts a worker's requests. If the settings resolve to no route,
 * the hash is shared only by tasks with the same profile, provider and model.
 */
async function routeOf(
  root: string,
  name: string,
  { model_override: model, provider_override: provider }: ModelChoice,
  variables: App["variables"],
): Promise<string> {
  const loaded = await loadConfig(await requireProfile(root, name), { variables });
  let facts: readonly unknown[] = [name, provider, model];
  try {
    const wanted = { model: model ?? undefined, provider: provider ?? undefined };
    const route = resolveRoute(readRouteSettings(loaded), wanted, loaded.variable);
    const keys = route.keys.map(({ value }) => value);
    facts = [route.provider, route.baseUrl, route.model, keys, loaded.config.fallback_providers];
  } catch {
    // The worker reports this error itself, in its log and on its task.
  }
  return createHash("sha256").update(JSON.stringify(facts)).digest("hex").slice(0, 16);
}
