import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { tempHome } from "./hermes.ts";

type Home = Pick<Awaited<ReturnType<typeof tempHome>>, "hermes" | "folder">;
type Line = { readonly table?: string; readonly row: Record<string, unknown> } & Record<string, unknown>;

/** Creates a board with many done tasks and one ready task by an import, because creating them one by one takes minutes. */
export async function fillBoard({ hermes, folder }: Home, slug: string, count: number): Promise<void> {
  await hermes(["kanban", "boards", "create", `${slug}-seed`]);
  const at = ["--board", `${slug}-seed`];
  await hermes(["kanban", ...at, "create", "Still to do", "--assignee", "default"]);
  const { stdout } = await hermes(["kanban", ...at, "export"]);
  const lines = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
  const seed = lines.find(({ table }) => table === "task")?.row ?? {};
  const now = Date.now();
  const done = Array.from({ length: count - 1 }, (_, index): Line => {
    const seq = index + 2;
    const id = `t_${(seq + 0x100000000000).toString(16)}`;
    const ended = { status: "done", completed_at: now - index * 1_000, ready_at: null };
    return { table: "task", row: { ...seed, ...ended, id, seq, title: `Done ${seq}`, updated_at: now } };
  });
  const rows = [...lines.slice(0, -1), ...done];
  const last = { end: { rows: rows.length - 1 } }; // the first line describes the file
  const path = join(folder, `${slug}.jsonl`);
  await writeFile(path, `${[...rows, last].map((line) => JSON.stringify(line)).join("\n")}\n`);
  const { exitCode, stderr } = await hermes(["kanban", "import", path, "--as", slug]);
  if (exitCode !== 0) throw new Error(stderr);
}
