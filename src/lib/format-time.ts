/** A moment in local time, to the minute. */
export function formatTime(time: number): string {
  const date = new Date(time);
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

const SPANS: readonly (readonly [string, number])[] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
];

/** A span of time in its largest unit, in words: `8 minutes`. */
export function spanWords(ms: number): string {
  const [unit, size] = SPANS.find(([, one]) => ms >= one) ?? [];
  if (unit === undefined || size === undefined) return "less than a minute";
  const count = Math.round(ms / size);
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}
