import { AppError } from "../../../lib/errors.ts";
import type { Reporter } from "../../environment-request.ts";
import type { Backend } from "../../options.ts";
import { type Engine, noticeOnce } from "./engine.ts";

const VERSION_TIMEOUT_MS = 5_000;

/** Parses the kind of a client from its `--version`, because its file name proves nothing. */
export function parseEngineKind(version: string): "docker" | "podman" | undefined {
  return /^(docker|podman) version /i.exec(version)?.[1]?.toLowerCase() as "docker" | "podman" | undefined;
}

/**
 * Throws when the backend is podman and the configured program is docker: the sandboxes would run in another engine,
 * with other limits. The reverse only prints a notice, because the backend `docker` has always allowed both.
 */
export async function requireMatchingEngine(
  engine: Engine,
  backend: Backend,
  reporter: Reporter,
  signal: AbortSignal,
): Promise<void> {
  const { stdout } = await engine.run(["--version"], VERSION_TIMEOUT_MS, signal);
  const kind = parseEngineKind(stdout);
  if (backend === "podman" && kind === "docker") {
    const hint = "Set terminal.backend to docker, set terminal.docker_binary to podman, or leave it empty.";
    const problem = `terminal.backend is podman, but terminal.docker_binary (HERMES_DOCKER_BINARY) names ${engine.binary}, which is docker.`;
    throw new AppError("sandbox-refused", problem, { hint });
  }
  if (backend === "docker" && kind === "podman") {
    noticeOnce(
      engine,
      `terminal.backend is docker, but ${engine.binary} is podman, so sandboxes run in Podman. Set terminal.backend to podman to silence this notice.`,
      reporter,
    );
  }
}
