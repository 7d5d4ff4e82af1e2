/** A time as the value of a `datetime-local` field. */
export function localTime(at: number): string {
  const date = new Date(at);
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day}T${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** Suggested times. */
export function soonTimes(now: number): { hour: number; tomorrow: number; monday: number } {
  const morning = (days: number): number => {
    const date = new Date(now);
    date.setDate(date.getDate() + days);
    return date.setHours(9, 0, 0, 0);
  };
  const weekday = new Date(now).getDay();
  return { hour: now + 3_600_000, tomorrow: morning(1), monday: morning((8 - weekday) % 7 || 7) };
}
