const LISTENS = Symbol.for("hermes-test-fails-on-warning");

// Runs before each test file; many test files share a process. A Node warning in it fails the run and names the test file.
if (!Reflect.has(globalThis, LISTENS)) {
  Reflect.set(globalThis, LISTENS, true);
  process.on("warning", ({ stack }) => {
    // Not the warning itself: it refers to the emitter, which may be the whole `process`.
    throw new Error(`Node warned in the test's own process: ${stack}`);
  });
}
