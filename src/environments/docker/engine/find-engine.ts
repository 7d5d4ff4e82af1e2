import { access, constants, readFile, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { AppError, errnoOf } from "../../../lib/errors.ts";
import { createEngine, type Engine, type Variables } from "./engine.ts";
import { createEngineSocket, type EngineSocket } from "./engine-socket.ts";
import { socketPathOf } from "./socket-paths.ts";

/** Client programs by backend, in order of preference; bare names are searched on the PATH. */
const PROGRAMS = {
  docker: [
    "docker",
    "podman",
    "/usr/local/bin/docker",
    "/opt/homebrew/bin/docker",
    "/Applications/Docker.app/Contents/Resources/bin/docker",
  ],
  podman: ["podman"],
} as const;

export interface EngineChoice {
  readonly backend: keyof typeof PROGRAMS;
  /** `terminal.docker_binary`; empty means to search for a client. */
  readonly binary: string;
  /** The client's whole environment, including PATH, HOME, DOCKER_HOST and DOCKER_CONTEXT. */
  readonly variables: Variables;
}

/** Finds the engine from the settings, or the first installed one, without checking whether it runs. */
export async function findEngine({ backend, binary, variables }: EngineChoice): Promise<Engine> {
  if (binary !== "") {
    const path = await findProgram(binary, variables["PATH"]);
    if (path !== undefined) return createEngine(path, variables);
    const hint = "Set terminal.docker_binary to the path of docker or podman, or leave it empty.";
    const problem = `terminal.docker_binary is ${binary}, which is not a program.`;
    throw new AppError("sandbox-unavailable", problem, { hint });
  }
  for (const program of PROGRAMS[backend]) {
    const path = await findProgram(program, variables["PATH"]);
    if (path !== undefined) return createEngine(path, variables, await findSocket(path, variables));
  }
  const missing = backend === "docker" ? "Neither docker nor podman is" : "podman is not";
  const hint = "Install it, set terminal.docker_binary to its path, or set terminal.backend to local.";
  throw new AppError("sandbox-unavailable", `${missing} installed.`, { hint });
}

/** Finds the socket that Docker's client uses; undefined where only the client knows the engine's address. */
async function findSocket(client: string, variables: Variables): Promise<EngineSocket | undefined> {
  const { DOCKER_HOST: host, DOCKER_CONTEXT: context } = variables;
  const path = socketPathOf(host);
  if (basename(client) !== "docker" || path === undefined) return undefined;
  if (!host && (context || (await usesContext(variables)))) return undefined;
  return createEngineSocket(path);
}

async function usesContext({ DOCKER_CONFIG: folder, HOME: home = "" }: Variables): Promise<boolean> {
  try {
    const settings = await readFile(join(folder || join(home, ".docker"), "config.json"), "utf8");
    return settings.includes('"currentContext"');
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return false;
    return true; // the client reports the problem with this file
  }
}

async function findProgram(program: string, path = ""): Promise<string | undefined> {
  const candidates = program.includes("/")
    ? [program]
    : path.split(":").flatMap((folder) => (folder === "" ? [] : [join(folder, program)]));
  for (const candidate of candidates) if (await isProgram(candidate)) return candidate;
  return undefined;
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false; // it cannot be run, for whatever reason
  }
}
