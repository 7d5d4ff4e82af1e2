import { z } from "zod";
import { callFailed, type Engine, formatFailure, succeeded } from "../docker/engine/engine.ts";
import { parseJson } from "../docker/engine/parse-json.ts";
import { CHANNEL_MARK } from "../docker/lifecycle/keeper.ts";
import { LAST_USE_FILE } from "../docker/lifecycle/last-use.ts";

const LIST_TIMEOUT_MS = 10_000;
const STOP_TIMEOUT_MS = 30_000;
const INSPECT_TIMEOUT_MS = 10_000;

const instanceList = z.object({
  instances: z.array(z.object({ instance: z.string(), pid: z.number(), img: z.string() })).nullish(),
});

export interface Instance {
  readonly name: string;
  /** The host pid of its first process. */
  readonly pid: number;
  readonly image: string;
}

/** Finds the running instance of that name. */
export async function findInstance(
  engine: Engine,
  name: string,
  signal: AbortSignal,
): Promise<Instance | undefined> {
  return (await listInstances(engine, name, signal)).find((instance) => instance.name === name);
}

/** Lists running instances by a name pattern with `*`. */
export async function listInstances(
  engine: Engine,
  pattern: string,
  signal: AbortSignal,
): Promise<readonly Instance[]> {
  const result = await engine.run(["instance", "list", "--json", pattern], LIST_TIMEOUT_MS, signal);
  const parsed = instanceList.safeParse(parseJson(result.stdout));
  if (!succeeded(result) || !parsed.success) {
    const hint = `Run \`${engine.binary} instance list\` to see why.`;
    throw callFailed(`${engine.binary} cannot list its instances`, result, hint);
  }
  return (parsed.data.instances ?? []).map(({ instance, pid, img }) => ({ name: instance, pid, image: img }));
}

/** Stops the instance with all its processes; returns the program's error message if it could not be stopped. */
export async function stopInstance(
  engine: Engine,
  name: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const result = await engine.run(["instance", "stop", name], STOP_TIMEOUT_MS, signal);
  if (succeeded(result) || (await findInstance(engine, name, signal)) === undefined) return undefined;
  return formatFailure(result);
}

/** Flags for every command that starts or enters an instance: each one sets its own capabilities and variables. */
export function entryFlags({ asRoot }: { readonly asRoot: boolean }): readonly string[] {
  // Root in the instance is root on this machine and would keep all capabilities.
  return asRoot ? ["--cleanenv", "--no-privs", "--add-caps", CAPABILITIES.join(",")] : ["--cleanenv"];
}

/** The capabilities of our Docker sandboxes, plus KILL for processes of other users in the instance. */
const CAPABILITIES = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "SETUID", "SETGID", "KILL"].map(
  (name) => `CAP_${name}`,
);

/** The use of an instance, as seen from inside. */
export interface InstanceUse {
  /** Whether a process has a channel into it. */
  readonly isHeld: boolean;
  /** Whether other processes run in it, such as a leftover child of a command. */
  readonly hasProcesses: boolean;
  /** Whether a job runs in it. */
  readonly hasJobs: boolean;
  /** When a channel last used it, in milliseconds since 1970; undefined if no channel has used it. */
  readonly lastUse: number | undefined;
}

/** A channel's shell was started from outside, so its parent pid is 0; its child shells have the same mark but a parent. */
const INSPECT = `held=0 other=0 job=0
for d in /proc/[0-9]*; do
  pid=\${d#/proc/}; [ "$pid" != 1 ] && [ "$pid" != "$$" ] || continue
  stat=; { read -r stat < "$d/stat"; } 2>/dev/null || continue
  set -- \${stat##*) }
  [ "$1" != Z ] || continue
  case "$2 $(tr '\\0' ' ' < "$d/cmdline" 2>/dev/null)" in "0 "*"$word "*) held=1 ;; *"$mark /"*/hermes-jobs-*) other=1 job=1 ;; *) other=1 ;; esac
done
echo "$held $other $job $(stat -c %Y ${LAST_USE_FILE} 2>/dev/null)"`;

/** Inspects a running instance; undefined if it does not answer. */
export async function inspectInstance(
  engine: Engine,
  { name, asRoot }: { readonly name: string; readonly asRoot: boolean },
  signal: AbortSignal,
): Promise<InstanceUse | undefined> {
  const enter = ["exec", ...entryFlags({ asRoot }), "--pwd", "/", `instance://${name}`, "sh", "-c"];
  // The marks are split by quotes, so that simultaneous inspections do not mistake each other for a channel or a job.
  const script = `word=${CHANNEL_MARK.slice(0, -1)}"${CHANNEL_MARK.slice(-1)}" mark=hermes-jo"b"; ${INSPECT}`;
  const result = await engine.run([...enter, script], INSPECT_TIMEOUT_MS, signal);
  const [, held, other, job, stamp] = /^([01]) ([01]) ([01]) (\d*)$/.exec(result.stdout.trimEnd()) ?? [];
  if (!succeeded(result) || held === undefined) return undefined;
  const lastUse = stamp === undefined || stamp === "" ? undefined : Number(stamp) * 1_000;
  return { isHeld: held === "1", hasProcesses: other === "1", hasJobs: job === "1", lastUse };
}
