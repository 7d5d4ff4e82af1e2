import { AppError } from "../../../lib/errors.ts";
import { runProcess } from "../../../lib/process/process.ts";
import { type Mount, mountArguments } from "./mounts.ts";
import type { SandboxPlan } from "./plan-sandbox.ts";

/** Where the sandbox finds the FIFOs of its channels. */
export const CHANNELS_IN_SANDBOX = "/run/hermes";

/** Root can write to some of these even without capabilities, and a change affects the whole machine. */
const KERNEL_SETTINGS = ["sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "mtrr"].map(
  (name) => `/proc/${name}`,
);

const PROBE_WITHIN_MS = 10_000;

export interface SandboxFiles {
  /** An empty file without permissions. */
  readonly blankFile: string;
  /** The folder with the FIFOs of the channels; absent where no channel is opened. */
  readonly channels?: string;
}

/** The command line that runs a program in the sandbox. */
export function bubblewrapCommand(
  { mounts, hasNetwork, bubblewrap }: Pick<SandboxPlan, "mounts" | "hasNetwork" | "bubblewrap">,
  { blankFile, channels }: SandboxFiles,
  command: readonly string[],
): [string, ...string[]] {
  const ofChannels: Mount[] =
    channels === undefined ? [] : [{ kind: "read", path: CHANNELS_IN_SANDBOX, source: channels }];
  return [
    bubblewrap,
    ...["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
    ...(hasNetwork ? [] : ["--unshare-net"]),
    ...["--cap-drop", "ALL"],
    ...["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"],
    ...KERNEL_SETTINGS.flatMap((path) => ["--ro-bind-try", path, path]),
    ...mountArguments([...mounts, ...ofChannels], blankFile),
    "--",
    ...command,
  ];
}

const MAX_STARTS = 5;

/**
 * Starts bubblewrap again if another program removed a mount while bubblewrap changed the flags of all mounts, for example
 * because a container ended. No command has run in the sandbox by then.
 */
export async function retryLostMounts<Result>(start: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await start();
    } catch (error) {
      const isLostMount = error instanceof AppError && error.message.includes("Unable to apply mount flags");
      if (!isLostMount || attempt === MAX_STARTS) throw error;
    }
  }
}

/** Why this machine cannot create the sandbox; undefined if it can. */
export async function probeSandbox(...parts: Parameters<typeof tryOnce>): Promise<AppError | undefined> {
  try {
    await retryLostMounts(() => tryOnce(...parts));
    return undefined;
  } catch (error) {
    if (error instanceof AppError && error.code === "local-sandbox-unavailable") return error;
    throw error;
  }
}

async function tryOnce(
  plan: SandboxPlan,
  files: SandboxFiles,
  variables: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
): Promise<void> {
  try {
    const command = bubblewrapCommand(plan, files, ["true"]);
    const result = await runProcess(command, { env: variables, timeoutMs: PROBE_WITHIN_MS }, signal);
    if (result.exitCode !== 0)
      throw explainFailure(plan.mode, result.timedOut ? "bwrap did not answer" : result.stderr);
  } catch (error) {
    if (error instanceof AppError && error.code === "process-unstartable")
      throw explainFailure(plan.mode, MISSING);
    throw error;
  }
}

export const MISSING = "bubblewrap is not installed";

/** Explains why the sandbox cannot be created. There is no fallback to running commands without it. */
export function explainFailure(mode: string, reason: string): AppError {
  const [first = ""] = reason.trim().split("\n");
  return new AppError(
    "local-sandbox-unavailable",
    `terminal.local_sandbox is ${mode}, but this machine cannot create the sandbox: ${first.replace(/^bwrap: /, "").replace(/\.$/, "")}. No command was run.`,
    { hint: hintFor(reason) },
  );
}

function hintFor(reason: string): string {
  if (reason === MISSING)
    return "Install it (`apt-get install bubblewrap`), or set terminal.local_sandbox to off.";
  if (/Unknown option/.test(reason))
    return "Update bubblewrap to 0.5 or later, or set terminal.local_sandbox to off.";
  if (/namespace|uid map|mount proc|not permitted|Permission denied/i.test(reason))
    return "The kernel, AppArmor or a container forbids user namespaces (see kernel.unprivileged_userns_clone and kernel.apparmor_restrict_unprivileged_userns). Allow them, or set terminal.local_sandbox to off, or use Docker.";
  return "Run `hermes doctor`, or set terminal.local_sandbox to off.";
}
