import { type Command, InvalidArgumentError } from "commander";
import type { CommandContext } from "../../context.ts";
import { type AddVerb, defineCommand, verbsOf, withExamples } from "../../define-command.ts";
import { collectNames, parseAge, parseCountOrZero, parseName } from "../../parse-option.ts";
import { buildJobs } from "./define-jobs.ts";

/** Each verb loads only its own code, because scripts wait for the start of `sandbox exec`. */
const VERBS = {
  attach: () => import("./attach.ts"),
  copy: () => import("./copy.ts"),
  exec: () => import("./exec.ts"),
  inspect: () => import("./inspect.ts"),
  lifecycle: () => import("./lifecycle.ts"),
  shell: () => import("./shell.ts"),
  snapshots: () => import("./snapshots.ts"),
};

export function build(context: CommandContext): Command {
  const { terminal } = context;
  const sandbox = defineCommand("hermes sandbox", "Run commands in the sandbox and manage it.", terminal);
  const add = verbsOf(sandbox, terminal, { json: true });
  const addPlain = verbsOf(sandbox, terminal);
  const ofTask = (command: Command): Command =>
    command.option("--task <name>", "use the sandbox of this task", parseName, "default");

  const ofChosen = (command: Command): Command =>
    ofTask(command).argument("[sandbox]", "sandbox name or id, as shown by `list`", parseName);

  ofTask(
    addPlain("exec", "Run a command in the sandbox.", [
      "hermes sandbox exec -- uname -a",
      "hermes sandbox exec --timeout 10 -- 'make test | tail'",
      "tar c . | hermes sandbox exec -- tar x -C /workspace",
    ]),
  )
    .option(
      "--timeout <seconds>",
      "end the command after this time (default: terminal.timeout)",
      parseSeconds,
    )
    .option("--workdir <folder>", "working directory")
    .argument("<command...>", "command, after --; joined with spaces and passed to the shell, as in ssh")
    .addHelpText(
      "after",
      "\nInput, output and exit code of the command are passed through.\nExit codes: 124 the command timed out, 125 Hermes itself failed, 128+N signal N\nended Hermes and the command, 141 the output was closed.",
    )
    .action(async (words, options) => (await VERBS.exec()).execInSandbox(context, words, options));
  ofTask(
    add("cp", "Copy files between this machine and the sandbox.", [
      "hermes sandbox cp ./a :/workspace/a",
      "hermes sandbox cp :/workspace/out ./out",
      "hermes sandbox cp --json ./project :/workspace/",
    ]),
  )
    .argument("<source>", "file or folder; prefix a sandbox path with a colon")
    .argument("<destination>", "target path; the copy goes into an existing folder, as in cp")
    .addHelpText("after", "\nThe copy is atomic. A folder never replaces an existing file or folder.")
    .action(async (source, destination, options) =>
      (await VERBS.copy()).copyBetween(context, source, destination, options),
    );
  ofTask(
    addPlain("shell", "Open an interactive shell in the sandbox.", [
      "hermes sandbox shell",
      "hermes sandbox shell --task research",
    ]),
  ).action(async (options) => (await VERBS.shell()).openShell(context, options));
  sandbox.addCommand(buildJobs(context, ofTask));
  ofTask(addPlain("attach", "Attach this terminal to a running job.", ["hermes sandbox attach proc_1a2b"]))
    .option("--eof", "close the job's input when standard input ends")
    .argument("<id>", "job id or id prefix of at least 4 digits")
    .action(async (id, options) => (await VERBS.attach()).attachToJob(context, id, options));
  add("list", "List the sandboxes of this profile.", [
    "hermes sandbox list --size",
    "hermes sandbox list --all-profiles --json",
  ])
    .option("--all-profiles", "include other profiles")
    .option("--size", "show disk usage (slower)")
    .action(async (options) => (await VERBS.inspect()).listSandboxRows(context, options));
  ofChosen(
    add("status", "Show the state of the sandbox, its jobs and its drift from the settings.", [
      "hermes sandbox status",
      "hermes sandbox status --task research --json",
    ]),
  ).action(async (chosenSandbox, options) =>
    (await VERBS.inspect()).showStatus(context, { ...options, chosenSandbox }),
  );
  ofChosen(add("explain", "Show what commands in the sandbox can reach.", ["hermes sandbox explain"])).action(
    async (chosenSandbox, options) =>
      (await VERBS.inspect()).explainSandbox(context, { ...options, chosenSandbox }),
  );
  ofChosen(
    add("stop", "Stop the sandbox; the next command starts it again.", [
      "hermes sandbox stop",
      "hermes sandbox stop --task research --force",
    ]),
  )
    .option("--force", "stop it even if it is in use, runs a job or has /root and /workspace in memory")
    .action(async (chosenSandbox, options) =>
      (await VERBS.lifecycle()).stopChosenSandbox(context, { ...options, chosenSandbox }),
    );
  ofChosen(
    add("rm", "Remove the sandbox; its files on the host are kept.", [
      "hermes sandbox rm",
      "hermes sandbox rm --task research",
    ]),
  )
    .option("--force", "remove it even if it is in use or runs a job")
    .action(async (chosenSandbox, options) =>
      (await VERBS.lifecycle()).removeChosenSandbox(context, { ...options, chosenSandbox }),
    );
  add("gc", "Remove or stop unused sandboxes, according to the settings.", [
    "hermes sandbox gc --dry-run",
    "hermes sandbox gc --all-profiles --json",
  ])
    .option("--dry-run", "show what would be done, without doing it")
    .option("--all-profiles", "include other profiles")
    .action(async (options) => (await VERBS.lifecycle()).collectGarbage(context, options));
  addSnapshots(context, add, ofTask);
  return withExamples(sandbox, [
    "hermes sandbox exec -- ls -la",
    "hermes sandbox list",
    "hermes sandbox explain",
  ]);
}

function addSnapshots(context: CommandContext, add: AddVerb, ofTask: (command: Command) => Command): void {
  ofTask(
    add("snapshot", "Save the files of the sandbox; its commands keep running.", [
      "hermes sandbox snapshot --name before-upgrade",
      "hermes sandbox snapshot --task research --json",
    ]),
  )
    .option("--name <name>", "name for the snapshot", parseName)
    .action(async (options) => (await VERBS.snapshots()).takeSnapshot(context, options));
  add("snapshots", "List the snapshots of this profile and their disk usage.", [
    "hermes sandbox snapshots",
  ]).action(async (options) => (await VERBS.snapshots()).showSnapshots(context, options));
  add("fork", "Create a sandbox for a new task from another sandbox or a snapshot.", [
    "hermes sandbox fork experiment",
    "hermes sandbox fork experiment --snapshot before-upgrade",
    "hermes sandbox exec --task experiment -- ls",
  ])
    .argument("<new-task>", "task name; it must not have a sandbox yet", parseName)
    .option("--task <name>", "copy the sandbox of this task (default: default)", parseName)
    .option("--snapshot <name>", "copy this snapshot (name or id)", parseName)
    .action(async (newTask, options) => (await VERBS.snapshots()).forkInto(context, newTask, options));
  add("restore", "Restore the files of a snapshot; the current files are saved as a snapshot first.", [
    "hermes sandbox restore before-upgrade",
    "hermes sandbox restore before-upgrade --yes --json",
  ])
    .argument("<snapshot>", "snapshot name or id", parseName)
    .option(
      "--task <name>",
      "replace the sandbox of this task (default: the task of the snapshot)",
      parseName,
    )
    .option("-y, --yes", "skip the confirmation")
    .option("--force", "restore even if the sandbox is in use, runs a job or cannot be saved first")
    .action(async (snapshot, options) => (await VERBS.snapshots()).restoreFrom(context, snapshot, options));
  add("prune", "Remove old snapshots and images that no sandbox needs.", [
    "hermes sandbox prune --older-than 7d --dry-run",
    "hermes sandbox prune --keep 3",
    "hermes sandbox prune before-upgrade",
  ])
    .argument("[snapshots...]", "snapshots to remove (name or id), whatever their age", collectNames)
    .option(
      "--older-than <age>",
      "remove snapshots at least this old, such as 12h or 7d (default: terminal.docker_snapshot_ttl_seconds)",
      parseAge,
    )
    .option("--keep <count>", "keep the newest <count> snapshots of each task", parseCountOrZero)
    .option("--all", "remove all snapshots that no sandbox needs")
    .option("--dry-run", "show what would be done, without doing it")
    .action(async (snapshots, options) =>
      (await VERBS.snapshots()).pruneSnapshotsAndImages(context, snapshots, options),
    );
}

function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (!(seconds > 0)) throw new InvalidArgumentError("Give a number of seconds greater than 0.");
  return seconds;
}
