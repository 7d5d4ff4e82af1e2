import { access, constants } from "node:fs/promises";
import { z } from "zod";
import { AppError, errnoOf } from "../../lib/errors.ts";
import { complaintOf, type Engine, succeeded } from "./engine.ts";
import { socketOf } from "./engine-sockets.ts";
import { parseJson } from "./parse-json.ts";

const VERSION_TIMEOUT_MS = 5_000;
const ATTEMPTS = 2; // an engine that was asleep or just starts may miss the first
const OLDEST = { docker: [19, 3], podman: [3, 0] } as const;

const answer = z.object({
  Client: z.object({ Version: z.string() }).optional(),
  Server: z
    .object({ Version: z.string(), Components: z.array(z.object({ Name: z.string() })).nullish() })
    .nullish(),
});

export interface EngineVersion {
  readonly kind: keyof typeof OLDEST;
  readonly version: string;
}

/** The engine's version; throws with its own reason when it is missing, hangs, does not run, or is too old. */
export async function requireEngine(engine: Engine, signal: AbortSignal): Promise<EngineVersion> {
  for (let attempt = 1; ; attempt++) {
    const result = await engine.run(
      ["version", "--format", "{{json .}}"],
      { timeoutMs: VERSION_TIMEOUT_MS },
      signal,
    );
    if (succeeded(result)) return requireRecent(engine, result.stdout);
    if (!result.timedOut) throw await notRunning(engine, complaintOf(result));
    if (attempt === ATTEMPTS) throw hanging(engine, result.stderr.trim());
  }
}

function requireRecent(engine: Engine, text: string): EngineVersion {
  const said = answer.safeParse(parseJson(text));
  const version = said.data?.Server?.Version ?? said.data?.Client?.Version;
  if (version === undefined) {
    throw new AppError(
      "sandbox-unavailable",
      `${engine.binary} does not say its version; it may not be a container engine.`,
    );
  }
  // Podman has no server unless it is asked over a socket, and then says so.
  const isPodman =
    !said.data?.Server || said.data.Server.Components?.some(({ Name }) => Name.startsWith("Podman"));
  const kind = isPodman ? "podman" : "docker";
  const [major, minor] = OLDEST[kind];
  const [ownMajor = 0, ownMinor = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  if (ownMajor < major || (ownMajor === major && ownMinor < minor)) {
    throw new AppError("sandbox-unavailable", `The ${kind} engine is too old: ${version}.`, {
      hint: `Update it to ${major}.${String(minor).padStart(2, "0")} or newer.`,
    });
  }
  return { kind, version };
}

function hanging(engine: Engine, stderr: string): AppError {
  const said = stderr === "" ? "" : ` It said: ${stderr}`;
  return new AppError(
    "sandbox-unavailable",
    `The container engine hangs: \`${engine.binary} version\` gave no answer within ${VERSION_TIMEOUT_MS / 1_000} s, ${ATTEMPTS} times.${said}`,
    { hint: "Restart the engine, or check the host that DOCKER_HOST or the Docker context names." },
  );
}

async function notRunning(engine: Engine, complaint: string): Promise<AppError> {
  const message = `The container engine cannot be reached: ${complaint}`;
  const host = engine.env["DOCKER_HOST"];
  const socket = socketOf(host);
  if (socket === undefined) {
    return new AppError("sandbox-unavailable", message, { hint: `Check DOCKER_HOST, which is ${host}.` });
  }
  const hint = (await isForbidden(socket))
    ? `You may not use ${socket}: join its group (\`sudo usermod -aG docker $USER\`, then log in again).`
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
