const STOPS_WITHIN_MS = 200;

/** Suspends this process alone, as Ctrl-Z does in other programs. Calls `leave` before that, and `enter` after `fg`. */
export function suspendProcess(leave: () => void, enter: () => void): void {
  leave();
  let isBack = false;
  const comeBack = (): void => {
    if (isBack) return;
    isBack = true;
    enter();
  };
  process.once("SIGCONT", comeBack);
  // Without a shell with job control, the process is not suspended and gets no SIGCONT.
  setTimeout(comeBack, STOPS_WITHIN_MS);
  process.kill(process.pid, "SIGTSTP");
}
