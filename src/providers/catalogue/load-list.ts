import { AppError } from "../../lib/errors.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { Route } from "../routes/resolve-route.ts";
import type { ModelCache, StoredList } from "./model-cache.ts";
import type { ListedModel } from "./parse-list.ts";

export interface ListParts {
  readonly cache: ModelCache;
  readonly ttlMs: number;
  readonly clock: Pick<Clock, "now">;
  /** Fetches the list of models from the server of a route; throws an AppError if it cannot. */
  fetchList(route: Route, signal: AbortSignal): Promise<readonly ListedModel[]>;
}

/**
 * When the server is asked. `stored`: never. `recent`: if the stored list is older than its time to live. `once`: the same, but
 * not again within that time after a failed attempt. `fresh`: always.
 */
export type ListUse = "stored" | "recent" | "once" | "fresh";

/** The list of a server, and why there is no newer one. */
export interface LoadedList {
  readonly list: StoredList | undefined;
  readonly problem: AppError | undefined;
}

/** Loads the list of one server. If no new list can be fetched, returns the old one, if any, and the problem. */
export async function loadList(
  { cache, ttlMs, clock, fetchList }: ListParts,
  route: Route,
  use: ListUse,
  signal: AbortSignal,
): Promise<LoadedList> {
  const stored = await cache.loadList(route);
  const now = clock.now();
  const isRecent = (time: number | undefined) => time !== undefined && time <= now && now - time < ttlMs;
  const isUsed = {
    stored: true,
    recent: isRecent(stored?.fetchedAt),
    once: isRecent(stored?.fetchedAt) || isRecent(stored?.failedAt),
    fresh: false,
  };
  if (isUsed[use]) return { list: stored, problem: undefined };
  const fetched = await orProblem(fetchList(route, signal), signal);
  const list =
    fetched instanceof AppError
      ? { fetchedAt: stored?.fetchedAt, failedAt: now, models: stored?.models ?? [] }
      : { fetchedAt: now, failedAt: undefined, models: fetched };
  const saved = await orProblem(cache.saveList(route, list), signal);
  return { list, problem: [fetched, saved].find((result) => result instanceof AppError) };
}

async function orProblem<Result>(action: Promise<Result>, signal: AbortSignal): Promise<Result | AppError> {
  try {
    return await action;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof AppError) return error;
    throw error;
  }
}
