/**
 * For tests of a time limit: tries a short limit first, and longer ones if the machine was too slow to reach the tested state
 * before the limit. Resolves with the first result that was in time, or with the last one.
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
