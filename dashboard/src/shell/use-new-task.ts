import { useNavigate } from "@tanstack/react-router";

/** Opens the dialog of a new task, which belongs to the board. */
export function useNewTask(): () => void {
  const navigate = useNavigate();
  return () => void navigate({ to: "/board", search: { new: true } });
}
