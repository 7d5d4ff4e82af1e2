import type { MenuItem } from "../../../components/controls/menu.tsx";
import type { Toasts } from "../../../components/layout/toast.tsx";
import { words } from "../../../words/words.ts";
import type { BoardTools } from "../board-context.tsx";

const { board: text } = words;

/** Items that copy the id or the address of a task; none on plain HTTP in a local network, where browsers offer no clipboard. */
export function copyItems(
  id: string,
  { hrefOf }: Pick<BoardTools, "hrefOf">,
  toasts: Toasts,
): readonly MenuItem[] {
  if (!("clipboard" in navigator)) return [];
  const copy = (value: string) => (): void =>
    void navigator.clipboard.writeText(value).then(() => toasts.say(words.shell.copied));
  return [
    { label: text.copyId, icon: "copy", run: copy(id) },
    { label: text.copyLink, run: copy(new URL(hrefOf(id), document.baseURI).href) },
  ];
}
