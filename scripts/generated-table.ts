/** Replaces the text between `<!-- generated: NAME -->` and `<!-- end -->` in a page with a table. */
export function replaceTable(
  page: string,
  name: string,
  titles: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const opening = `<!-- generated: ${name} -->`;
  const start = page.indexOf(opening);
  const end = page.indexOf("<!-- end -->", start);
  if (start < 0 || end < 0) throw new Error(`a page has no section ${opening} … <!-- end -->`);
  const lines = [titles, titles.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`);
  return `${page.slice(0, start)}${opening}\n${lines.join("\n")}\n${page.slice(end)}`;
}
