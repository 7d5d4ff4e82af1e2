/** Formats a timestamp in local time, to the minute. */
export function formatTime(time: number): string {
  const date = new Date(time);
  const twoDigits = (value: number): string => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${twoDigits(date.getMonth() + 1)}-${twoDigits(date.getDate())}`;
  return `${day} ${twoDigits(date.getHours())}:${twoDigits(date.getMinutes())}`;
}

/** Formats the time of day in local time, to the second. */
export function formatClock(time: number): string {
  return new Date(time).toLocaleTimeString("en-GB");
}

/** Formats a time relative to another one: only the time of day if both are on the same day, otherwise the date too. */
export function formatNear(time: number, from: number): string {
  return isSameDay(time, from) ? formatClock(time) : formatTime(time);
}

/** Whether two timestamps are on the same day in local time. */
export function isSameDay(time: number, other: number): boolean {
  return new Date(time).toDateString() === new Date(other).toDateString();
}

const UNITS: readonly (readonly [string, number])[] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
];

/** Formats a duration in its largest unit: `8 minutes`. */
export function formatDuration(ms: number): string {
  const [unit, size] = UNITS.find(([, one]) => ms >= one) ?? [];
  if (unit === undefined || size === undefined) return "less than a minute";
  const count = Math.round(ms / size);
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}
