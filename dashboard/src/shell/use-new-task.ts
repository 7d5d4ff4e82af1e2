import { useNavigate, useRouterState } from "@tanstack/react-router";

/** Opens the dialog of a new task: on the board that is shown, or else on the first one. */
export function useNewTask(): () => void {
  const navigate = useNavigate();
  const isOnBoard = useRouterState({ select: ({ location }) => /^\/board\/./.test(location.pathname) });
  return () =>
    void (isOnBoard
      ? navigate({
          to: ".",
          search: (before: Record<string, unknown>) => ({ ...before, new: true as const }),
        })
      : navigate({ to: "/board", search: { new: true } }));
}
