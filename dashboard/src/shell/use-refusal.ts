import { useQuery } from "@tanstack/react-query";
import { useApi } from "../data/app-data.tsx";
import { meQuery } from "../data/queries.ts";
import { words } from "../words/words.ts";

type Scope = "work" | "shell" | "admin";

/** Undefined if this browser may do what needs the scope; otherwise the sentence that says why not. */
export function useRefusal(scope: Scope): string | undefined {
  const me = useQuery(meQuery(useApi())).data;
  if (me?.signedIn === true && me.scopes.includes(scope)) return undefined;
  const isReadOnly = me?.signedIn === true && me.scopes.length === 1;
  return isReadOnly ? words.problems.readOnly : words.problems.notAllowed(scope);
}
