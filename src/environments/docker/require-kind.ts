import { AppError } from "../../lib/errors.ts";
import type { Reporter } from "../environment-request.ts";
import type { Backend } from "../options.ts";
import { type Engine, noticeOnce } from "./engine.ts";

const VERSION_TIMEOUT_MS = 5_000;

/** Which engine a client is by its own words, whatever it is called; undefined when it says neither. */
export function parseKind(version: string): "docker" | "podman" | undefined {
  return /^(docker|podman) version /i.exec(version)?.[1]?.toLowerCase() as "docker" | "podman" | undefined;
}

/**
 * Throws when the settings ask for podman and name a program that is docker: its sandboxes would be in another engine,
 * with other limits. The reverse is told only, because `docker` has always meant either.
 */
export async function requireKind(
  engine: Engine,
  backend: Backend,
  reporter: Reporter,
  signal: AbortSignal,
): Promise<void> {
  const { stdout } = await engine.run(["--version"], { timeoutMs: VERSION_TIMEOUT_MS }, signal);
  const kind = parseKind(stdout);
  if (backend === "podman" && kind === "docker") {
    throw new AppError(
      "sandbox-refused",
      `terminal.backend is podman, but terminal.docker_binary (HERMES_DOCKER_BINARY) names ${engine.binary}, which is docker.`,
      { hint: "Set terminal.backend to docker, or name podman, or leave terminal.docker_binary empty." },
    );
  }
  if (backend === "docker" && kind === "podman") {
    noticeOnce(
      engine,
      `terminal.backend is docker, but ${engine.binary} is podman: sandboxes are podman's. Set terminal.backend to podman to say so.`,
      reporter,
    );
  }
}
