const LISTENS = Symbol.for("hermes-test-fails-on-warning");

// Runs before each test file, of which many share a process: what Node warns of in it fails the run, with the test file named.
if (!Reflect.has(globalThis, LISTENS)) {
  Reflect.set(globalThis, LISTENS, true);
  process.on("warning", ({ stack }) => {
    // Not the warning itself: it carries the emitter, which may be all of the process.
    throw new Error(`Node warned in the test's own process: ${stack}`);
  });
}
