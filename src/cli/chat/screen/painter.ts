import type { LiveArea, Screen } from "./screen.ts";

/** Schedules writes to the screen: at most 30 a second, and none while the window is being resized. */
export interface Painter extends Disposable {
  /** Appends finished lines with the next frame. */
  append(lines: readonly string[]): void;
  /** The live area may have changed. */
  schedule(): void;
  /** Draws the live area as soon as all keys that have arrived are handled, without waiting for the next frame. */
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
 * A terminal rewraps its lines before it reports its new size. A frame in between would overwrite the wrong rows, so nothing is
 * written until the size has been unchanged for this long.
 */
const RESIZE_QUIET_MS = 80;
/** tmux rewraps immediately, but reports sizes only four times a second. */
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
    refreshSize(stdout);
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

/** Reads the size from the kernel before each frame, because other work may delay the signal of a change. */
function refreshSize(stdout: NodeJS.WriteStream & { _refreshSize?: () => void }): void {
  stdout._refreshSize?.();
}
