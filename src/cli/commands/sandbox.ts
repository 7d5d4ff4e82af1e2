import { type Command, InvalidArgumentError } from "commander";
import type { CommandContext } from "../context.ts";
import { defineCommand, withExamples } from "../define-command.ts";
import { buildJobs } from "./sandbox/define-jobs.ts";

/** Each verb loads only its own code: the start of `sandbox exec` is what scripts wait for. */
const VERBS = {
  attach: () => import("./sandbox/attach.ts"),
  copy: () => import("./sandbox/copy.ts"),
  exec: () => import("./sandbox/exec.ts"),
  look: () => import("./sandbox/look.ts"),
  manage: () => import("./sandbox/manage.ts"),
  shell: () => import("./sandbox/shell.ts"),
  snapshots: () => import("./sandbox/snapshots.ts"),
};

/** `hermes sandbox`: the place where commands run, by hand. */
export function build(context: CommandContext): Command {
  const { terminal } = context;
  const sandbox = defineCommand("hermes sandbox", "Run commands in the sandbox and look after it.", terminal);
  const add = (name: string, description: string): Command => {
    const command = defineCommand(name, description, terminal);
    sandbox.addCommand(command);
    return command;
  };
  const ofTask = (command: Command): Command =>
    command.option("--task <name>", "the task whose sandbox is meant", "default");

  const ofChosen = (command: Command): Command =>
    ofTask(command).argument("[sandbox]", "a sandbox by its name or id, as `list` shows them");

  withExamples(
    ofTask(add("exec", "Run a command; its output, exit code and input are passed through."))
      .option("--timeout <seconds>", "end it after this long (default: terminal.timeout)", parseSeconds)
      .option("--workdir <folder>", "where to run it")
      .argument("<words...>", "the command, after --; joined with spaces and given to the shell, as ssh does")
      .addHelpText(
        "after",
        "\nExit code: that of the command; 124 when it timed out, 125 when we failed\nourselves, 128+N when signal N ended us and the command with us\n(141: nobody reads the output any more).",
      )
      .action(async (words, options) => (await VERBS.exec()).execInSandbox(context, words, options)),
    [
      "hermes sandbox exec -- uname -a",
      "hermes sandbox exec --timeout 10 -- 'make test | tail'",
      "tar c . | hermes sandbox exec -- tar x -C /workspace",
    ],
  );
  withExamples(
    ofTask(add("cp", "Copy a file or a folder into the sandbox or out of it."))
      .argument("<source>", "what to copy; a colon before it means a path of the sandbox")
      .argument("<destination>", "where to; into a folder that exists, as cp does")
      .option("--json", "print JSON")
      .addHelpText("after", "\nIt is there whole or not at all. A folder never replaces anything.")
      .action(async (source, destination, options) =>
        (await VERBS.copy()).copyBetween(context, source, destination, options),
      ),
    [
      "hermes sandbox cp ./a :/workspace/a",
      "hermes sandbox cp :/workspace/out ./out",
      "hermes sandbox cp --json ./project :/workspace/",
    ],
  );
  ofTask(
    withExamples(add("shell", "Open an interactive shell in the sandbox."), [
      "hermes sandbox shell",
      "hermes sandbox shell --task research",
    ]),
  ).action(async (options) => (await VERBS.shell()).openShell(context, options));
  sandbox.addCommand(buildJobs(context, ofTask));
  ofTask(
    withExamples(add("attach", "Put this terminal in front of a job that runs in the sandbox."), [
      "hermes sandbox attach proc_1a2b",
    ]),
  )
    .option("--eof", "end the job's input when ours ends")
    .argument("<id>", "its id, or the beginning of it")
    .action(async (id, options) => (await VERBS.attach()).attachToJob(context, id, options));
  withExamples(add("list", "List the sandboxes of this profile."), [
    "hermes sandbox list --size",
    "hermes sandbox list --all-profiles --json",
  ])
    .option("--all-profiles", "also those of other profiles")
    .option("--size", "also how much disk they use, which takes longer")
    .option("--json", "print JSON")
    .action(async (options) => (await VERBS.look()).listAll(context, options));
  ofChosen(
    withExamples(
      add(
        "status",
        "Show whether the sandbox runs, whether it is in use, its jobs and whether it matches the settings.",
      ),
      ["hermes sandbox status", "hermes sandbox status --task research --json"],
    ),
  )
    .option("--json", "print JSON")
    .action(async (chosen, options) => (await VERBS.look()).showStatus(context, { ...options, chosen }));
  ofChosen(
    withExamples(
      add("explain", "Say who can see what: user, capabilities, writable mounts, network, limits."),
      ["hermes sandbox explain"],
    ),
  )
    .option("--json", "print JSON")
    .action(async (chosen, options) => (await VERBS.look()).explainSandbox(context, { ...options, chosen }));
  ofChosen(
    withExamples(add("stop", "Stop the sandbox; the next command starts it again."), [
      "hermes sandbox stop",
      "hermes sandbox stop --task research --force",
    ]),
  )
    .option("--force", "also while somebody uses it or a job runs in it")
    .option("--json", "print JSON")
    .action(async (chosen, options) => (await VERBS.manage()).stopOne(context, { ...options, chosen }));
  ofChosen(
    withExamples(add("rm", "Remove the sandbox; files that are kept on the host stay."), [
      "hermes sandbox rm",
      "hermes sandbox rm --task research",
    ]),
  )
    .option("--force", "also while somebody uses it or a job runs in it")
    .option("--json", "print JSON")
    .action(async (chosen, options) => (await VERBS.manage()).removeOne(context, { ...options, chosen }));
  withExamples(
    add("gc", "Reclaim sandboxes that nobody uses any more, by the rules of the settings.")
      .option("--dry-run", "only say what would be done")
      .option("--all-profiles", "also those of other profiles")
      .option("--json", "print JSON")
      .action(async (options) => (await VERBS.manage()).collectGarbage(context, options)),
    ["hermes sandbox gc --dry-run", "hermes sandbox gc --all-profiles --json"],
  );
  addSnapshots(context, add, ofTask);
  return withExamples(sandbox, [
    "hermes sandbox exec -- ls -la",
    "hermes sandbox list",
    "hermes sandbox explain",
  ]);
}

function addSnapshots(
  context: CommandContext,
  add: (name: string, description: string) => Command,
  ofTask: (command: Command) => Command,
): void {
  withExamples(
    ofTask(add("snapshot", "Keep the files of the sandbox as they are now; it goes on meanwhile."))
      .option("--name <name>", "call it so, besides its id")
      .option("--json", "print JSON")
      .action(async (options) => (await VERBS.snapshots()).takeSnapshot(context, options)),
    ["hermes sandbox snapshot --name before-upgrade", "hermes sandbox snapshot --task research --json"],
  );
  withExamples(add("snapshots", "List the snapshots of this profile and the disk that they use."), [
    "hermes sandbox snapshots",
  ])
    .option("--json", "print JSON")
    .action(async (options) => (await VERBS.snapshots()).showSnapshots(context, options));
  withExamples(
    add("fork", "Make the sandbox of a new task with the files of another one, or of a snapshot.")
      .argument("<new-task>", "the task, which may have no sandbox yet")
      .option("--task <name>", "begin with the sandbox of this task (default: default)")
      .option("--snapshot <name>", "begin with this snapshot, by name or id")
      .option("--json", "print JSON")
      .action(async (newTask, options) => (await VERBS.snapshots()).forkInto(context, newTask, options)),
    [
      "hermes sandbox fork experiment",
      "hermes sandbox fork experiment --snapshot before-upgrade",
      "hermes sandbox exec --task experiment -- ls",
    ],
  );
  withExamples(
    add("restore", "Give a sandbox the files of a snapshot; what is there now becomes a snapshot first.")
      .argument("<snapshot>", "its name or id")
      .option("--task <name>", "the task whose sandbox is replaced (default: that of the snapshot)")
      .option("-y, --yes", "do not ask")
      .option("--force", "also while somebody uses it or a job runs in it, or when it cannot be kept first")
      .option("--json", "print JSON")
      .action(async (snapshot, options) => (await VERBS.snapshots()).restoreFrom(context, snapshot, options)),
    ["hermes sandbox restore before-upgrade", "hermes sandbox restore before-upgrade --yes --json"],
  );
  withExamples(
    add("prune", "Remove old snapshots and images that no sandbox needs.")
      .argument("[snapshots...]", "only these, by name or id, whatever their age")
      .option(
        "--older-than <age>",
        "those at least this old, such as 12h or 7d (default: terminal.docker_snapshot_ttl_seconds)",
        parseAge,
      )
      .option("--keep <count>", "all but the newest so many of each task", parseCount)
      .option("--all", "all that no sandbox needs")
      .option("--dry-run", "only say what would be done")
      .option("--json", "print JSON")
      .action(async (snapshots, options) => (await VERBS.snapshots()).pruneOld(context, snapshots, options)),
    [
      "hermes sandbox prune --older-than 7d --dry-run",
      "hermes sandbox prune --keep 3",
      "hermes sandbox prune before-upgrade",
    ],
  );
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

function parseAge(text: string): number {
  const [, count, unit = ""] = /^(\d+(?:\.\d+)?)([smhd])$/.exec(text) ?? [];
  const unitMs = UNIT_MS[unit];
  if (unitMs === undefined) throw new InvalidArgumentError("Give an age such as 90s, 30m, 12h or 7d.");
  return Number(count) * unitMs;
}

function parseCount(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError("Give a whole number.");
  return Number(text);
}

function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (!(seconds > 0)) throw new InvalidArgumentError("Give a number of seconds greater than 0.");
  return seconds;
}
