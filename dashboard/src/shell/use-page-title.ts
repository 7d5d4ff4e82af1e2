import { useEffect } from "react";
import { words } from "../words/words.ts";

/** Sets the title of the window. */
export function usePageTitle(title: string | undefined): void {
  useEffect(() => {
    if (title !== undefined) document.title = words.shell.titleOf(title);
  }, [title]);
}
