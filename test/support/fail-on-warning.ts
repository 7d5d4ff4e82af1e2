// Runs before each test file: what Node warns of in a test's own process fails the run, with the test file named.
process.on("warning", ({ stack }) => {
  // Not the warning itself: it carries the emitter, which may be all of the process.
  throw new Error(`Node warned in the test's own process: ${stack}`);
});
