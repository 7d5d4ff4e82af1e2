import { access, constants, stat } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../../lib/errors.ts";
import { createEngine, type Engine, type Variables } from "./engine.ts";

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
    if (path !== undefined) return createEngine(path, variables);
  }
  const wanted = backend === "docker" ? "Neither docker nor podman is" : "podman is not";
  throw new AppError("sandbox-unavailable", `${wanted} installed.`, {
    hint: "Install it, name it in terminal.docker_binary, or set terminal.backend to local.",
  });
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
