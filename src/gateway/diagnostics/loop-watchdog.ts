import { Worker } from "node:worker_threads";

export interface WatchdogOrder {
  /** How long the event loop may be blocked. */
  readonly limitMs: number;
  readonly checkEveryMs: number;
  /** The file for the stack of the blocked process. */
  readonly report: string;
}

export interface LoopWatchdog extends AsyncDisposable {
  /** Ends the process after `ms`, even if its loop is blocked. */
  endWithin(ms: number): void;
}

/** Positions in the shared memory: the number of beats of the loop, and the seconds left until the process must have ended. */
const [BEATS, SECONDS_LEFT] = [0, 1];

/**
 * The code of the thread. It counts checks without a beat instead of reading a clock, so that a suspended process is not ended. It is a
 * string, so that it needs no file. A debugger session of the thread reads the stack of the blocked loop.
 */
const THREAD = `
const { workerData: { shared, limitMs, checkEveryMs, report } } = require("node:worker_threads");
const { appendFileSync, statSync, rmSync } = require("node:fs");
const { Session } = require("node:inspector");
const own = new Session();
own.connect();
own.post("HeapProfiler.collectGarbage", () => setImmediate(() => own.disconnect())); // frees the memory that only the start of the thread needed
const beats = new Int32Array(shared);
let seen = -1, missed = 0, isEnding = false;
setInterval(() => {
  if (isEnding) return;
  const now = Atomics.load(beats, ${BEATS});
  missed = now === seen ? missed + 1 : 0;
  seen = now;
  if (missed * checkEveryMs >= limitMs) return end("the event loop was blocked for " + Math.round(limitMs / 1000) + " s");
  const left = Atomics.load(beats, ${SECONDS_LEFT});
  if (left === 0) return;
  const rest = left - Math.ceil(checkEveryMs / 1000);
  if (rest <= 0) return end("the gateway did not end in time");
  Atomics.store(beats, ${SECONDS_LEFT}, rest);
}, checkEveryMs);
function end(why) {
  isEnding = true;
  const write = (frames) => {
    try {
      if ((statSync(report, { throwIfNoEntry: false })?.size ?? 0) > 1000000) rmSync(report);
      const { rss, heapUsed } = process.memoryUsage();
      const head = new Date().toISOString() + " process " + process.pid + ": " + why + "; rss " + rss + ", heap " + heapUsed;
      appendFileSync(report, [head, ...frames].join("\\n    ") + "\\n", { mode: 0o600 });
    } catch {} // a report that cannot be written, as on a full disk, must not keep the process alive
    process.kill(process.pid, "SIGKILL");
  };
  setTimeout(write, 5000, ["(the stack could not be read: native code runs)"]);
  const session = new Session();
  session.connectToMainThread();
  session.on("Debugger.paused", ({ params }) =>
    write(params.callFrames.map(({ functionName, url, location }) =>
      "at " + (functionName || "(anonymous)") + " (" + url + ":" + (location.lineNumber + 1) + ":" + (location.columnNumber + 1) + ")")));
  session.post("Debugger.enable", () => session.post("Debugger.pause"));
}
`;

/**
 * Ends the process from a separate thread when its event loop is blocked for too long, after writing the stack to the report. A
 * supervisor then starts the gateway again, and nothing that was stored is lost.
 */
export function startLoopWatchdog(order: WatchdogOrder): LoopWatchdog {
  const shared = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT);
  const memory = new Int32Array(shared);
  const worker = new Worker(THREAD, {
    eval: true,
    workerData: { ...order, shared },
    execArgv: [],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1, stackSizeMb: 1 },
  });
  worker.unref();
  worker.on("error", () => undefined); // without a watchdog the gateway still works
  const beat = setInterval(() => Atomics.add(memory, BEATS, 1), order.checkEveryMs).unref();
  return {
    endWithin: (ms) => void Atomics.store(memory, SECONDS_LEFT, Math.ceil(ms / 1_000)),
    async [Symbol.asyncDispose]() {
      clearInterval(beat);
      await worker.terminate();
    },
  };
}
