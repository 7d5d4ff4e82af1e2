import { useEffect } from "react";
import { words } from "../words/words.ts";

/** Names the window, if the page knows its name. */
export function usePageTitle(title: string | undefined): void {
  useEffect(() => {
    if (title !== undefined) document.title = words.shell.titleOf(title);
  }, [title]);
}
