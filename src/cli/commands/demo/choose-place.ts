import { findEngine } from "../../../environments/docker/find-engine.ts";
import { AppError } from "../../../lib/errors.ts";
import type { CommandContext } from "../../context.ts";
import { PROGRAM } from "./project.ts";
import type { Stage } from "./stage.ts";

/** How long the parts of a sandbox may take: nobody waits longer for a demonstration, unless they ask for one in it. */
const HASTE = { engineMs: 2_000, sandboxMs: 6_000 };
const PATIENCE = { engineMs: 60_000, sandboxMs: 180_000 };
/** Images that many machines have, small ones first. */
const PLAIN_IMAGES = ["busybox", "alpine", "debian", "ubuntu", "fedora", "buildpack-deps", "python", "node"];

export type WantedPlace = "sandbox" | "local" | "any";

/**
 * Sets the stage up with a sandbox, or without one where that does not work, and returns which and why, in words. Throws
 * when a sandbox is wanted and there is none.
 */
export async function choosePlace(
  context: CommandContext,
  stage: Stage,
  wanted: WantedPlace,
): Promise<string> {
  const limits = wanted === "sandbox" ? PATIENCE : HASTE;
  const found = wanted === "local" ? { why: "--local" } : await findSandbox(context, limits.engineMs);
  if ("why" in found) {
    if (wanted === "sandbox") throw noSandbox(found.why);
    return goLocal(stage, found.why);
  }
  const { image, binary, program } = found;
  const settings = {
    backend: "docker",
    docker_image: image,
    docker_binary: binary,
    docker_mount_cwd_to_workspace: true,
    docker_network: false,
    container_persistent: false,
    container_disk: 0,
  };
  await stage.setTerminal(settings);
  const problem = await trySandbox(stage, limits.sandboxMs, context.signal);
  if (problem !== undefined) {
    stage.dropSandbox(); // not waited for: the engine may hang
    if (wanted === "sandbox") throw noSandbox(`a ${program} sandbox does not work: ${problem}`);
    return goLocal(stage, `a ${program} sandbox was tried and does not work: ${problem}`, settings);
  }
  return `in a ${program} sandbox (image ${image})`;
}

function noSandbox(why: string): AppError {
  return new AppError("sandbox-unavailable", `The demo found no sandbox: ${why}.`, {
    hint: "Look at it with `hermes doctor`, or leave out --docker.",
  });
}

/** Other settings stay for whoever removes what was tried before. */
async function goLocal(stage: Stage, why: string, settings: object = {}): Promise<string> {
  // The person's login files may be slow and print, and nothing here needs them.
  await stage.setTerminal({ ...settings, backend: "local", shell_init_files: ["/dev/null"] });
  return `on this machine, in a temporary folder (${why})`;
}

type Found =
  | { readonly image: string; readonly binary: string; readonly program: string }
  | { readonly why: string };

/** An engine that answers, and an image that it already has: nothing is fetched. */
async function findSandbox(context: CommandContext, timeoutMs: number): Promise<Found> {
  const { variables, signal } = context;
  const wanted = await wantedSandbox(context);
  const { binary } = wanted;
  try {
    const engine = await findEngine({ backend: "docker", binary, variables });
    const program = engine.binary.endsWith("podman") ? "Podman" : "Docker";
    const args = ["image", "ls", "--format", "{{.Repository}}:{{.Tag}}"];
    const listed = await engine.run(args, { timeoutMs }, signal);
    if (listed.timedOut) return { why: `${program} does not answer` };
    if (listed.exitCode !== 0) return { why: `${program} does not run` };
    const image = chooseImage(listed.stdout.split("\n"), wanted.image);
    if (image === undefined) return { why: `${program} has no image here, and none is fetched` };
    return { image, binary, program };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof AppError)) throw error;
    return { why: "there is no Docker" };
  }
}

/** What the person's own settings name; settings that cannot be read name nothing. */
async function wantedSandbox({ openApp }: CommandContext): Promise<{ image: string; binary: string }> {
  try {
    const { docker_image: image, docker_binary: binary } = (await openApp()).resolved.config.terminal;
    return { image, binary };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { image: "", binary: "" };
  }
}

/** The one that is wanted, else a plain one, else any: whether it has a shell is tried out later. */
export function chooseImage(listed: readonly string[], wanted: string): string | undefined {
  const images = listed.map((line) => line.trim()).filter((name) => name !== "" && !name.includes("<none>"));
  const rank = (name: string): number => {
    const short = name.replace(/^(?:docker\.io\/(?:library\/)?|localhost\/)/, "");
    if (short === wanted || short === `${wanted}:latest`) return -1;
    const place = PLAIN_IMAGES.indexOf(short.replace(/:[^:/]*$/, ""));
    return place === -1 ? PLAIN_IMAGES.length : place;
  };
  return images.toSorted((one, other) => rank(one) - rank(other))[0];
}

/** Makes the sandbox and looks whether the project can be read and changed in it; returns what is wrong. */
async function trySandbox(stage: Stage, withinMs: number, signal: AbortSignal): Promise<string | undefined> {
  const limit = AbortSignal.timeout(withinMs);
  const look = `test -r ${PROGRAM} && test -w .`;
  const { ended } = stage.start(["sandbox", "exec", "--", look], AbortSignal.any([signal, limit]));
  const { exitCode, stderr } = await ended;
  signal.throwIfAborted();
  if (exitCode === 0) return undefined;
  if (limit.aborted) return `it was not ready within ${withinMs / 1_000} s`;
  const [line = ""] = stderr.replace(/^hermes: /, "").split("\n");
  return line === "" ? "it does not see the temporary folder" : line;
}
