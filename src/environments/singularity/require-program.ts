import { AppError } from "../../lib/errors.ts";
import { callFailed, createEngine, type Engine, succeeded, type Variables } from "../docker/engine/engine.ts";

const PROGRAMS = ["apptainer", "singularity"] as const;
const VERSION_TIMEOUT_MS = 10_000;

/** Variables for the program's own folders; its other variables could weaken the sandbox. */
const OWN = ["CONFIGDIR", "CACHEDIR", "TMPDIR"].flatMap((name) => [
  `APPTAINER_${name}`,
  `SINGULARITY_${name}`,
]);
const KEPT = ["PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"];

/** Returns the first installed program. If that program fails, the next one is not tried. */
export async function requireProgram(variables: Variables, signal: AbortSignal): Promise<Engine> {
  const env = clientVariables(variables);
  for (const name of PROGRAMS) {
    const engine = createEngine(name, env);
    if (await isInstalled(engine, signal)) return engine;
  }
  const hint =
    "Install Apptainer (https://apptainer.org/docs), load its module, or choose another terminal.backend.";
  throw new AppError("sandbox-unavailable", "Neither apptainer nor singularity is installed.", { hint });
}

/**
 * The variables for the program. It passes its own variables on, even into the environment of the instance's first
 * process, where every command can read them.
 */
function clientVariables(variables: Variables): Variables {
  return Object.fromEntries([...KEPT, ...OWN].map((name) => [name, variables[name]]));
}

async function isInstalled(engine: Engine, signal: AbortSignal): Promise<boolean> {
  try {
    const result = await engine.run(["version"], VERSION_TIMEOUT_MS, signal);
    if (succeeded(result)) return true;
    const hint = "Run it yourself to see why; its files may be on a file system that hangs.";
    throw callFailed(`\`${engine.binary} version\` does not answer`, result, hint);
  } catch (error) {
    if (error instanceof AppError && error.code === "process-unstartable") return false;
    throw error;
  }
}
