import type { LiveArea, Screen } from "./screen.ts";

/** Decides when the screen is written: at most 30 times a second, and not while the window changes its size. */
export interface Painter extends Disposable {
  /** Appends finished lines with the next frame. */
  append(lines: readonly string[]): void;
  /** The live area may have changed. */
  schedule(): void;
  /** A key was pressed: the live area is drawn as soon as all keys that have arrived were handled. */
  echo(): void;
  /** Redraws everything below the finished lines, for a terminal that another program has written to. */
  redraw(): void;
  /** Starts to paint, with a frame at once. */
  start(): void;
  /** Prints what is left and removes the live area. Nothing is written until `start`. */
  stop(): void;
}

export interface PainterParts {
  readonly screen: Screen;
  readonly stdout: NodeJS.WriteStream;
  readonly isInTmux: boolean;
  live(): LiveArea;
}

const FRAME_MS = 33;
/**
 * A terminal rewraps its lines when it gets the new size, and we hear of that later. A frame in between would be drawn over
 * the wrong rows, so nothing is written until the size has not changed for this long.
 */
const RESIZE_QUIET_MS = 80;
/** tmux rewraps immediately, but informs a program only four times a second. */
const TMUX_QUIET_MS = 300;

export function createPainter({ screen, stdout, isInTmux, live }: PainterParts): Painter {
  let pending: string[] = [];
  let frame: NodeJS.Timeout | undefined;
  let isEchoing = false;
  let resizing: NodeJS.Timeout | undefined;
  let isRunning = false;

  const takePending = (): string[] => {
    const lines = pending;
    pending = [];
    return lines;
  };
  function paint(): void {
    clearTimeout(frame);
    frame = undefined;
    isEchoing = false;
    noticeResize(stdout);
    if (isRunning && resizing === undefined) screen.show(takePending(), live());
  }
  function paintResized(): void {
    resizing = undefined;
    if (isRunning) screen.resize(takePending(), live());
  }
  function onResize(): void {
    clearTimeout(resizing);
    resizing = setTimeout(paintResized, isInTmux ? TMUX_QUIET_MS : RESIZE_QUIET_MS);
  }
  stdout.on("resize", onResize);
  return {
    append(lines) {
      for (const line of lines) pending.push(line);
    },
    schedule() {
      if (isRunning) frame ??= setTimeout(paint, FRAME_MS);
    },
    echo() {
      if (!isRunning || isEchoing) return;
      isEchoing = true;
      setImmediate(paint);
    },
    redraw: () => screen.resize(takePending(), live()),
    start() {
      isRunning = true;
      screen.show(takePending(), live());
    },
    stop() {
      if (!isRunning) return;
      isRunning = false;
      clearTimeout(frame);
      frame = undefined;
      const wasResized = resizing !== undefined;
      clearTimeout(resizing);
      resizing = undefined;
      if (wasResized) screen.resize(takePending(), live());
      else screen.show(takePending(), live());
      screen.clear();
    },
    [Symbol.dispose]() {
      this.stop();
      stdout.off("resize", onResize);
    },
  };
}

/** Asks the kernel for the size before each frame: the signal that announces a change may still wait behind other work. */
function noticeResize(stdout: NodeJS.WriteStream & { _refreshSize?: () => void }): void {
  stdout._refreshSize?.();
}
