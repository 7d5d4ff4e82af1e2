import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type {
  NewTerminal,
  TerminalsAnswer,
  TerminalTicket,
} from "../../../src/api/contract/machines/terminals.ts";
import { useToasts } from "../components/layout/toast.tsx";
import type { Api } from "../data/api.ts";
import { useApi } from "../data/app-data.tsx";
import { sentenceOf } from "../words/problem-words.ts";

type Sized = "columns" | "rows";
/** What a new terminal shows. Its size is that of the window until it is shown. */
export type WantedTerminal = NewTerminal extends infer One
  ? One extends NewTerminal
    ? Omit<One, Sized>
    : never
  : never;

export const terminalsQuery = (api: Api) =>
  queryOptions({
    queryKey: ["terminals"],
    queryFn: ({ signal }) => api.get<TerminalsAnswer>("terminals", signal),
    staleTime: 0, // no event reports that a terminal has ended
  });

/** Opens a terminal and shows it. */
export function useOpenTerminal() {
  const api = useApi();
  const client = useQueryClient();
  const toasts = useToasts();
  const navigate = useNavigate();
  return useMutation({
    mutationFn: (wanted: WantedTerminal) =>
      api.send<TerminalTicket>("POST", "terminals", { ...wanted, ...guessSize() }),
    onError: (error) => toasts.refuse(sentenceOf(error)),
    onSuccess: ({ id }) => {
      void client.invalidateQueries({ queryKey: terminalsQuery(api).queryKey });
      void navigate({ to: "/terminals/$id", params: { id } });
    },
  });
}

/** Ends the program of a terminal. */
export function useCloseTerminal() {
  const api = useApi();
  const client = useQueryClient();
  const toasts = useToasts();
  return useMutation({
    mutationFn: (id: string) => api.send("DELETE", `terminals/${encodeURIComponent(id)}`),
    onError: (error) => toasts.refuse(sentenceOf(error)),
    onSettled: () => client.invalidateQueries({ queryKey: terminalsQuery(api).queryKey }),
  });
}

/** About the size that the terminal will have, so that the program need not redraw at once. */
function guessSize(): Pick<NewTerminal, Sized> {
  const cellsIn = (pixels: number, cell: number): number =>
    Math.min(400, Math.max(20, Math.floor(pixels / cell)));
  return { columns: cellsIn(innerWidth - 290, 7.9), rows: cellsIn(innerHeight - 190, 16.3) };
}
