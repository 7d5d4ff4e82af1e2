import { AppError } from "../../lib/errors.ts";
import { complaintOf, createEngine, type Engine, succeeded, type Variables } from "../docker/engine.ts";

const PROGRAMS = ["apptainer", "singularity"] as const;
const VERSION_TIMEOUT_MS = 10_000;

/** Variables that tell the program where its own files are; what else it obeys would loosen the sandbox. */
const OWN = ["CONFIGDIR", "CACHEDIR", "TMPDIR"].flatMap((name) => [
  `APPTAINER_${name}`,
  `SINGULARITY_${name}`,
]);
const KEPT = ["PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"];

/** The first program that is installed, proven to answer. There is no other place to fall back to. */
export async function requireProgram(variables: Variables, signal: AbortSignal): Promise<Engine> {
  const env = clientVariables(variables);
  for (const name of PROGRAMS) {
    const engine = createEngine(name, env);
    if (await isInstalled(engine, signal)) return engine;
  }
  throw new AppError("sandbox-unavailable", "Neither apptainer nor singularity is installed.", {
    hint: "Install Apptainer (https://apptainer.org/docs), load its module, or choose another terminal.backend.",
  });
}

/**
 * All that the program may see when it starts something in an instance. It hands its own variables on, even into the
 * environment of the instance's first process, where each command can read them.
 */
function clientVariables(variables: Variables): Variables {
  return Object.fromEntries([...KEPT, ...OWN].map((name) => [name, variables[name]]));
}

async function isInstalled(engine: Engine, signal: AbortSignal): Promise<boolean> {
  try {
    const result = await engine.run(["version"], { timeoutMs: VERSION_TIMEOUT_MS }, signal);
    if (succeeded(result)) return true;
    throw new AppError(
      "sandbox-unavailable",
      `\`${engine.binary} version\` does not answer: ${complaintOf(result)}`,
      { hint: `Run it yourself to see why; its files may lie on a file system that hangs.` },
    );
  } catch (error) {
    if (error instanceof AppError && error.code === "process-unstartable") return false;
    throw error;
  }
}
