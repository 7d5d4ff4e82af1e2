/** A duration in readable units. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const minutes = Math.floor(ms / 60_000);
  return `${minutes} m ${Math.round((ms % 60_000) / 1_000)} s`;
}

const UNITS = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "m"],
] as const;

/** How long ago something was, in a few columns. */
export function formatAge(ms: number): string {
  const unit = UNITS.find(([size]) => ms >= size);
  return unit === undefined ? "just now" : `${Math.floor(ms / unit[0])} ${unit[1]} ago`;
}
