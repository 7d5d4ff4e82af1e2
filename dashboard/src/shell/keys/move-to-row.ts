/** Moves the focus to the next or previous row of the page. */
export function moveToRow(step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>("[data-row]")];
  const at = rows.findIndex((row) => row.closest("[data-row-of]")?.contains(document.activeElement));
  const next =
    at === -1 ? (step === 1 ? 0 : rows.length - 1) : Math.max(0, Math.min(rows.length - 1, at + step));
  rows[next]?.focus();
  rows[next]?.scrollIntoView({ block: "nearest" });
}
