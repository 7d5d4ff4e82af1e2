import type { SessionResetOptions } from "../options.ts";
import type { Chat } from "../platform.ts";
import type { CommonOptions } from "../platforms/common-options.ts";

/** Why a chat gets a new session with its next message, in words for its people; undefined if it keeps the session. */
export function whyReset(
  rules: SessionResetOptions,
  options: Pick<CommonOptions, "session_reset">,
  {
    type,
    lastActiveAt,
    now,
  }: { readonly type: Chat["type"]; readonly lastActiveAt: number; readonly now: number },
): string | undefined {
  const kind = type === "channel" ? "group" : type;
  const mode = options.session_reset ?? rules[kind] ?? rules.mode;
  const { idle_minutes: minutes, at_hour: hour } = rules;
  if ((mode === "idle" || mode === "both") && now - lastActiveAt >= minutes * 60_000)
    return `Nothing was written here for ${describeMinutes(minutes)}`;
  if ((mode === "daily" || mode === "both") && lastActiveAt < lastTimeAt(hour, now))
    return "A new day has begun";
  return undefined;
}

/** The last time at which a clock on the wall here showed this hour. */
function lastTimeAt(hour: number, now: number): number {
  const at = new Date(now);
  at.setHours(hour, 0, 0, 0);
  if (at.getTime() > now) at.setDate(at.getDate() - 1);
  return at.getTime();
}

function describeMinutes(minutes: number): string {
  if (minutes % 60 !== 0) return `${minutes} minutes`;
  return minutes === 60 ? "an hour" : `${minutes / 60} hours`;
}
