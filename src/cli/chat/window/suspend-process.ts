const STOPS_WITHIN_MS = 200;

/** Stops this process alone, as Ctrl-Z does in other programs: the terminal is left before and entered again after `fg`. */
export function suspendProcess(leave: () => void, enter: () => void): void {
  leave();
  let isBack = false;
  const comeBack = (): void => {
    if (isBack) return;
    isBack = true;
    enter();
  };
  process.once("SIGCONT", comeBack);
  // Without a shell that controls jobs the process does not stop, and no shell continues it.
  setTimeout(comeBack, STOPS_WITHIN_MS);
  process.kill(process.pid, "SIGTSTP");
}
