import type { Command } from "commander";
import { parseBoardSlug } from "../../../board/board-slug.ts";
import type { BoardDescription } from "../../../board/operations/describe-board.ts";
import { withExamples } from "../../define-command.ts";
import { atBoard, type Desk, type JsonOption } from "./desk.ts";

/** The verbs that change what a board says of itself. */
export function addDescriptions(desk: Desk, add: (name: string, description: string) => Command): void {
  withExamples(
    add("rename", "Give a board another name; its slug stays.")
      .argument("<slug>")
      .argument("<name...>")
      .action((slug: string, words: readonly string[], options: JsonOption) =>
        describe(desk, slug, { name: words.join(" ") }, options),
      ),
    ["hermes kanban boards rename ops Operations of the shop"],
  );
  withExamples(
    add("set-default-workdir", "Set the folder of worktrees for tasks that name none.")
      .argument("<slug>")
      .argument("[path]", "the whole path, from / on; left out means none")
      .action((slug: string, path: string | undefined, options: JsonOption) =>
        describe(desk, slug, { defaultWorkdir: path ?? null }, options),
      ),
    [
      "hermes kanban boards set-default-workdir ops /srv/shop",
      "hermes kanban boards set-default-workdir ops",
    ],
  );
}

async function describe(
  desk: Desk,
  text: string,
  description: BoardDescription,
  { json }: JsonOption,
): Promise<void> {
  const slug = parseBoardSlug(text);
  await atBoard({ ...desk, board: slug }, async ({ client, signal, context: { terminal } }) => {
    const board = await client.describeBoard(description, signal);
    if (json) return terminal.printJson(board);
    const workdir = board.default_workdir ?? "none";
    terminal.note(`The board ${slug} is called ${JSON.stringify(board.name)}; its folder is ${workdir}.`);
  });
}
