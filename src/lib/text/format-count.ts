/** A count with its noun, such as `1 task` or `2 tasks`; the plural can be given, for instance to include a verb. */
export function formatCount(count: number, singular: string, plural = `${singular}s`): string {
  return `${count} ${count === 1 ? singular : plural}`;
}
