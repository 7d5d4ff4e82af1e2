const isDeep = process.env["HERMES_TEST_LANE"] === "deep";

/** Selects the small count for `npm test`, or the full count for `npm run test:deep`. */
function count<Count>(small: Count, full: Count): Count {
  return isDeep ? full : small;
}

/**
 * The counts that tests use. A number that only makes a test longer and more thorough is here; a number that is part of an
 * assertion (a limit, a page size) stays in its test.
 */
export const scale = {
  /** Rounds in which a process is killed at a random time and the state is checked afterwards. */
  kills: count(2, 50),
  /** The same where a round takes only milliseconds, or where kills must hit many different steps. */
  killMoments: count(10, 100),

  /** Files of a project whose checkpoint is taken and undone. */
  checkpointFiles: count(2_000, 60_000),

  /** Kills of a working agent, each followed by a new message in the same session. */
  agentKills: count(6, 200),

  /** Kills of a gateway, and the messages that people write meanwhile. */
  gatewayKills: count(5, 30),
  gatewayMessages: count(24, 200),
  /** The same over four platforms with their servers at once. */
  gatewayPlatformKills: count(5, 30),
  gatewayPlatformMessages: count(16, 200),
  /** Messages that wait while one turn of their chat runs. */
  floodMessages: count(500, 10_000),

  /** Kills of sandbox operations with several steps, distributed over all operations; each kill needs many runs. */
  sandboxKills: count(2, 100),

  /** Selects the steps at which an operation is killed; the given steps are sorted, the most revealing first. */
  killSteps: <Step>(steps: readonly Step[]): readonly Step[] => (isDeep ? steps : steps.slice(0, 2)),

  /** The providers that each misbehaviour of a server is tested with. */
  hostileProviders: count<"distinct" | "all">("distinct", "all"),

  /** How long a process may outlive its run. The small count allows for a busy machine; the deep lane needs an idle one. */
  leavingMs: count(20_000, 2_000),

  /** Processes that compete for the same resource at once. */
  processes: count(5, 16),

  /** Histories of a simulated board. */
  histories: count(300, 10_000),
  /** Random edits of a text. */
  edits: count(1_000, 10_000),
  /** Random cases of any other property that is checked in memory. */
  cases: count(200, 3_000),
  /** Characters of a text that only a linear algorithm can process in time. */
  redactedChars: count(500_000, 16_000_000),
  /** Random sequences of operations on a database that are compared with a plain model. */
  sequences: count(10, 100),
  /** Random shell scripts that our reader reads and a shell runs. */
  scripts: count(40, 150),
  /** How long random changes of real commands are read and classified. */
  fuzzMs: count(1_000, 120_000),
  /** Files that are patched both by our code and by the program `patch`. */
  patchedFiles: count(100, 400),

  /** Tokens of tool results in one session that is compacted again and again. */
  sessionTokens: count(200_000, 3_000_000),
  /** Turns of one conversation, by four processes one after the other. */
  turns: count(40, 200),
  /** Tasks that depend on each other, in layers of four, and how long processes are killed while workers run the tasks. */
  graphTasks: count(6, 20),
  troubleMs: count(3_000, 20_000),
  /** Whether those tasks are started again at once after a failure; the deep lane waits for their pauses. */
  skipsPauses: count(true, false),
  /** Actions of a user on tasks whose workers are running. */
  operatorActions: count(6, 300),
  /** Tasks of a board that is copied from one database to the other and back. */
  boardTasks: count(1_000, 10_000),
  /** The lease of a run whose end cannot be recorded on a full disk; the test waits for the shorter one to expire. */
  fullDiskLeaseMs: count(300_000, 30_000),
  /** How often a database server is killed and started again. */
  losses: count(1, 3),

  /**
   * Whether rows that test only the shell and tools run in every environment: Podman has the image of Docker, and the SSH
   * server of the tests has the shell of this machine. Rows about the connection to an environment always run.
   */
  repeatedShellRows: count(false, true),

  /** Whether Podman also repeats the steps of the snapshot journey that make no other calls of the engine. */
  repeatedSnapshotSteps: count(false, true),

  /** Every nth case of a command that is ended midway is tested; n must not divide the number of events. */
  signalCaseStep: count(13, 1),

  /** Bytes that flow through a pipe while memory stays bounded. */
  streamBytes: count(64_000_000, 2_000_000_000),
  /** Pauses of a writer. The small one is longer than the heartbeat of a channel. */
  pausesMs: count<readonly number[]>([2_100], [5_000, 5_000, 5_000]),
  /** Small files that are copied as one folder. */
  copiedFiles: count(500, 20_000),
  /** The size of a sparse file that is copied. */
  sparseBytes: count(64_000_000, 5_000_000_000),

  /** Whether the accessibility of a page is checked in both themes at each size, or only in the light one on a desktop. */
  allAppearances: count(false, true),
  /** Bytes that a program in a terminal of the dashboard prints without a pause. */
  terminalFloodBytes: count(3_000_000, 15_000_000),
  /** Whether a test waits until the dashboard stops measuring what no page has shown for half a minute. */
  awaitsUnseenTopics: count(false, true),
};
