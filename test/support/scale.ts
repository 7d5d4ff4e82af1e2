const isDeep = process.env["HERMES_TEST_LANE"] === "deep";

/** What `npm test` uses, and what `npm run test:deep` uses. */
function count<Count>(small: Count, full: Count): Count {
  return isDeep ? full : small;
}

/**
 * How much of everything the tests use. Every number that only makes a test longer and surer stands here; a number that
 * is part of what is asserted (a limit, a page size) stays in its test.
 */
export const scale = {
  /** Rounds of a process that is killed at a random moment and looked after. */
  kills: count(2, 50),
  /** The same where a round takes milliseconds, or where moments of many different steps must be met. */
  killMoments: count(10, 100),

  /** Kills of an agent at work, each followed by a new message in the same session. */
  agentKills: count(6, 200),

  /** Kills of operations that change a sandbox in several steps, dealt out to all of them; each costs many runs. */
  sandboxKills: count(2, 100),

  /** Of the steps at which an operation is killed, the most telling first, those that are tried. */
  killSteps: <Step>(steps: readonly Step[]): readonly Step[] => (isDeep ? steps : steps.slice(0, 2)),

  /** Processes of ours that want the same at one instant. */
  processes: count(5, 16),

  /** Histories of a simulated board. */
  histories: count(500, 10_000),
  /** Random edits of a text. */
  edits: count(2_000, 10_000),
  /** Random cases of any other property that is looked at in memory. */
  cases: count(300, 3_000),
  /** Characters of a text that only an algorithm with a linear number of steps gets through. */
  redactedChars: count(500_000, 16_000_000),
  /** Random sequences of operations on a database beside a plain model. */
  sequences: count(10, 100),
  /** Random shell scripts that are read by us and run by a shell. */
  scripts: count(40, 150),
  /** Files that are patched by us and by the program patch. */
  patchedFiles: count(100, 400),

  /** Turns of one conversation, by four processes one after the other. */
  turns: count(40, 200),
  /** Tasks that depend on each other, in layers of four, and how long processes are killed while they are worked off. */
  graphTasks: count(8, 20),
  troubleMs: count(5_000, 20_000),
  /** What a person does to tasks whose workers are at work. */
  operatorActions: count(6, 300),
  /** Tasks of a board that is copied from one database to the other and back. */
  boardTasks: count(1_000, 10_000),
  /** The lease of a run whose end finds no room on the disk; the shorter one is waited for. */
  fullDiskLeaseMs: count(300_000, 36_000),
  /** How often a database server is killed and started again. */
  losses: count(1, 3),

  /**
   * Whether Podman runs those rows of the contracts that are about the shell and the tools of its image: Docker runs them
   * in the same image and through the same code. What is about the way there is run on both, always.
   */
  podmanShellRows: count(false, true),

  /** Each so-manieth case of a command that is ended in the middle is tried; no divisor of the number of events. */
  signalCaseStep: count(13, 1),

  /** What flows through a pipe while memory stays bounded. */
  streamBytes: count(64_000_000, 2_000_000_000),
  /** How long a writer is silent in between. The first is longer than the heartbeat of a channel. */
  pausesMs: count<readonly number[]>([2_100], [5_000, 5_000, 5_000]),
  /** Small files that are copied as one folder. */
  copiedFiles: count(500, 20_000),
  /** The size of a file of holes that is copied. */
  sparseBytes: count(64_000_000, 5_000_000_000),
};
