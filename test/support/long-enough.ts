/**
 * For tests of a time limit: tries with a short one, and where the machine was too slow for what has to happen before it
 * strikes, again with longer ones. Resolves with the first result that was in time, or with the last one.
 */
export async function longEnough<Result>(
  limits: readonly [number, ...number[]],
  attempt: (limit: number) => Promise<Result>,
  wasInTime: (result: Result) => boolean,
): Promise<Result> {
  const [limit, next, ...rest] = limits;
  const result = await attempt(limit);
  return next === undefined || wasInTime(result) ? result : longEnough([next, ...rest], attempt, wasInTime);
}
