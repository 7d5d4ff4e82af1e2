import { access, constants, readFile, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { AppError, errnoOf } from "../../lib/errors.ts";
import { createEngine, type Engine, type Variables } from "./engine.ts";
import { createEngineSocket, type EngineSocket } from "./engine-socket.ts";
import { socketOf } from "./engine-sockets.ts";

/** Clients by backend: names are looked up on the PATH, in this order. */
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
  /** `terminal.docker_binary`; empty means to look for one. */
  readonly binary: string;
  /** The client's environment: PATH, HOME, DOCKER_HOST, DOCKER_CONTEXT and all the rest. */
  readonly variables: Variables;
}

/** The engine that the settings name, or the first one found; whether it runs is not looked at. */
export async function findEngine({ backend, binary, variables }: EngineChoice): Promise<Engine> {
  if (binary !== "") {
    const path = await findProgram(binary, variables["PATH"]);
    if (path !== undefined) return createEngine(path, variables);
    throw new AppError(
      "sandbox-unavailable",
      `terminal.docker_binary is ${binary}, which is not a program.`,
      {
        hint: "Set terminal.docker_binary to the path of docker or podman, or leave it empty.",
      },
    );
  }
  for (const program of PROGRAMS[backend]) {
    const path = await findProgram(program, variables["PATH"]);
    if (path !== undefined) return createEngine(path, variables, await findSocket(path, variables));
  }
  const wanted = backend === "docker" ? "Neither docker nor podman is" : "podman is not";
  throw new AppError("sandbox-unavailable", `${wanted} installed.`, {
    hint: "Install it, name it in terminal.docker_binary, or set terminal.backend to local.",
  });
}

/** The socket behind Docker's own client; undefined where the client alone knows whom it asks, and how. */
async function findSocket(client: string, variables: Variables): Promise<EngineSocket | undefined> {
  const { DOCKER_HOST: host, DOCKER_CONTEXT: context } = variables;
  const path = socketOf(host);
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
    return true; // whatever is wrong with it, the client will say
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
    return false; // whatever the reason, it cannot be run
  }
}
