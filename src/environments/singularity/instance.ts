import { z } from "zod";
import { AppError } from "../../lib/errors.ts";
import { complaintOf, type Engine, succeeded } from "../docker/engine.ts";
import { CHANNEL_MARK } from "../docker/keeper.ts";
import { LAST_USE_FILE } from "../docker/last-use.ts";
import { parseJson } from "../docker/parse-json.ts";

const LIST_TIMEOUT_MS = 10_000;
const STOP_TIMEOUT_MS = 30_000;
const LOOK_TIMEOUT_MS = 10_000;

const answer = z.object({
  instances: z.array(z.object({ instance: z.string(), pid: z.number(), img: z.string() })).nullish(),
});

export interface Instance {
  readonly name: string;
  /** Of its first process, on our machine. */
  readonly pid: number;
  readonly image: string;
}

/** The running instance of that name. */
export async function findInstance(
  engine: Engine,
  name: string,
  signal: AbortSignal,
): Promise<Instance | undefined> {
  return (await listInstances(engine, name, signal)).find((instance) => instance.name === name);
}

/** The running instances whose names fit; `*` stands for anything. */
export async function listInstances(
  engine: Engine,
  pattern: string,
  signal: AbortSignal,
): Promise<readonly Instance[]> {
  const result = await engine.run(
    ["instance", "list", "--json", pattern],
    { timeoutMs: LIST_TIMEOUT_MS },
    signal,
  );
  const said = answer.safeParse(parseJson(result.stdout));
  if (!succeeded(result) || !said.success) {
    throw new AppError(
      "sandbox-unavailable",
      `${engine.binary} does not list its instances: ${complaintOf(result)}`,
      {
        hint: `Run \`${engine.binary} instance list\` to see what it lacks.`,
      },
    );
  }
  return (said.data.instances ?? []).map(({ instance, pid, img }) => ({ name: instance, pid, image: img }));
}

/** Ends the instance with all that runs in it; what it says when it could not. */
export async function stopInstance(
  engine: Engine,
  name: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const result = await engine.run(["instance", "stop", name], { timeoutMs: STOP_TIMEOUT_MS }, signal);
  if (succeeded(result) || (await findInstance(engine, name, signal)) === undefined) return undefined;
  return complaintOf(result);
}

/** Flags that every way into an instance needs: each is a door of its own, with its own capabilities and variables. */
export function entryFlags({ asRoot }: { readonly asRoot: boolean }): readonly string[] {
  // Root of the instance is root of this machine, and would keep all that it may do there.
  return asRoot ? ["--cleanenv", "--no-privs", "--add-caps", CAPABILITIES.join(",")] : ["--cleanenv"];
}

/** Those of our Docker sandboxes, and the one to end processes of other users, which are all in the instance. */
const CAPABILITIES = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "SETUID", "SETGID", "KILL"].map(
  (name) => `CAP_${name}`,
);

/** What an instance looks like from within. */
export interface InstanceUse {
  /** Somebody has a channel into it. */
  readonly isHeld: boolean;
  /** Something else runs in it, such as a command's child that was left behind. */
  readonly hasProcesses: boolean;
  /** A job runs in it. */
  readonly hasJobs: boolean;
  /** The stamp that the last channel left, in milliseconds since 1970; undefined when it is not there. */
  readonly lastUse: number | undefined;
}

/** A channel's shell came from outside, so it has no parent here; shells below it carry the same word. */
const LOOK = `held=0 other=0 job=0
for d in /proc/[0-9]*; do
  pid=\${d#/proc/}; [ "$pid" != 1 ] && [ "$pid" != "$$" ] || continue
  stat=; { read -r stat < "$d/stat"; } 2>/dev/null || continue
  set -- \${stat##*) }
  [ "$1" != Z ] || continue
  case "$2 $(tr '\\0' ' ' < "$d/cmdline" 2>/dev/null)" in "0 "*"$word "*) held=1 ;; *"$mark /"*/hermes-jobs-*) other=1 job=1 ;; *) other=1 ;; esac
done
echo "$held $other $job $(stat -c %Y ${LAST_USE_FILE} 2>/dev/null)"`;

/** Looks into a running instance; undefined when it does not answer. */
export async function lookInto(
  engine: Engine,
  { name, asRoot }: { readonly name: string; readonly asRoot: boolean },
  signal: AbortSignal,
): Promise<InstanceUse | undefined> {
  const enter = ["exec", ...entryFlags({ asRoot }), "--pwd", "/", `instance://${name}`, "sh", "-c"];
  // Written so that two who look at the same time do not take each other for a channel or a job.
  const script = `word=${CHANNEL_MARK.slice(0, -1)}"${CHANNEL_MARK.slice(-1)}" mark=hermes-jo"b"; ${LOOK}`;
  const result = await engine.run([...enter, script], { timeoutMs: LOOK_TIMEOUT_MS }, signal);
  const [, held, other, job, stamp] = /^([01]) ([01]) ([01]) (\d*)$/.exec(result.stdout.trimEnd()) ?? [];
  if (!succeeded(result) || held === undefined) return undefined;
  const lastUse = stamp === undefined || stamp === "" ? undefined : Number(stamp) * 1_000;
  return { isHeld: held === "1", hasProcesses: other === "1", hasJobs: job === "1", lastUse };
}
