import { access, constants } from "node:fs/promises";
import { z } from "zod";
import { AppError, errnoOf } from "../../../lib/errors.ts";
import { type Engine, formatFailure, succeeded } from "./engine.ts";
import { parseJson } from "./parse-json.ts";
import { socketPathOf } from "./socket-paths.ts";

const VERSION_TIMEOUT_MS = 5_000;
const ATTEMPTS = 2; // the first may time out while the engine starts or wakes up
const MIN_VERSIONS = { docker: [19, 3], podman: [3, 0] } as const;

const answer = z.object({
  Client: z.object({ Version: z.string() }).optional(),
  Server: z
    .object({ Version: z.string(), Components: z.array(z.object({ Name: z.string() })).nullish() })
    .nullish(),
});

export interface EngineVersion {
  readonly kind: keyof typeof MIN_VERSIONS;
  readonly version: string;
}

/** Returns the engine's version; throws a specific error when the engine is missing, hangs, is down, or is too old. */
export async function requireEngine(engine: Engine, signal: AbortSignal): Promise<EngineVersion> {
  for (let attempt = 1; ; attempt++) {
    const result = await engine.run(["version", "--format", "{{json .}}"], VERSION_TIMEOUT_MS, signal);
    if (succeeded(result)) return requireRecent(engine, result.stdout);
    if (!result.timedOut) throw await unreachableError(engine, formatFailure(result));
    if (attempt === ATTEMPTS) throw hangingError(engine, result.stderr.trim());
  }
}

function requireRecent(engine: Engine, text: string): EngineVersion {
  const { data } = answer.safeParse(parseJson(text));
  const version = data?.Server?.Version ?? data?.Client?.Version;
  if (version === undefined) {
    throw new AppError(
      "sandbox-unavailable",
      `${engine.binary} does not report its version; it may not be a container engine.`,
    );
  }
  // Podman reports a server only over a socket, and then lists itself as a component.
  const isPodman = !data?.Server || data.Server.Components?.some(({ Name }) => Name.startsWith("Podman"));
  const kind = isPodman ? "podman" : "docker";
  const [major, minor] = MIN_VERSIONS[kind];
  const [ownMajor = 0, ownMinor = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  if (ownMajor < major || (ownMajor === major && ownMinor < minor)) {
    const hint = `Update it to ${major}.${String(minor).padStart(2, "0")} or newer.`;
    throw new AppError("sandbox-unavailable", `The ${kind} engine is too old: ${version}.`, { hint });
  }
  return { kind, version };
}

function hangingError(engine: Engine, stderr: string): AppError {
  const output = stderr === "" ? "" : ` Its output: ${stderr}`;
  const hint = "Restart the engine, or check the host that DOCKER_HOST or the Docker context names.";
  const problem = `The container engine hangs: \`${engine.binary} version\` did not answer within ${VERSION_TIMEOUT_MS / 1_000} s, ${ATTEMPTS} times.${output}`;
  return new AppError("sandbox-unavailable", problem, { hint });
}

async function unreachableError(engine: Engine, complaint: string): Promise<AppError> {
  const message = `The container engine cannot be reached: ${complaint}`;
  const host = engine.env["DOCKER_HOST"];
  const socket = socketPathOf(host);
  if (socket === undefined) {
    return new AppError("sandbox-unavailable", message, { hint: `Check DOCKER_HOST, which is ${host}.` });
  }
  const hint = (await isForbidden(socket))
    ? `You have no permission for ${socket}. Join its group (\`sudo usermod -aG docker $USER\`) and log in again.`
    : "Start it (`sudo systemctl start docker`, or Docker Desktop), or check DOCKER_HOST.";
  return new AppError("sandbox-unavailable", message, { hint });
}

async function isForbidden(path: string): Promise<boolean> {
  try {
    await access(path, constants.R_OK | constants.W_OK);
    return false;
  } catch (error) {
    return errnoOf(error) === "EACCES";
  }
}
