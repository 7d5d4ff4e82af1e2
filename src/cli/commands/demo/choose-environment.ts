import { findEngine } from "../../../environments/docker/engine/find-engine.ts";
import { AppError } from "../../../lib/errors.ts";
import type { CommandContext } from "../../context.ts";
import { PROGRAM } from "./demo-project.ts";
import type { Demo } from "./open-demo.ts";

/** How long to wait for the engine and the sandbox: briefly, unless the user asked for a sandbox. */
const SHORT_LIMITS = { engineMs: 2_000, sandboxMs: 6_000 };
const LONG_LIMITS = { engineMs: 60_000, sandboxMs: 180_000 };
/** Common base images, small ones first. */
const PLAIN_IMAGES = ["busybox", "alpine", "debian", "ubuntu", "fedora", "buildpack-deps", "python", "node"];

export type DemoEnvironment = "sandbox" | "local" | "any";

/**
 * Configures the demo for a sandbox, or for this machine if a sandbox does not work. Returns a description of the choice.
 * Throws if a sandbox is required but not available.
 */
export async function chooseEnvironment(
  context: CommandContext,
  demo: Demo,
  wanted: DemoEnvironment,
): Promise<string> {
  const limits = wanted === "sandbox" ? LONG_LIMITS : SHORT_LIMITS;
  const found = wanted === "local" ? { why: "--local" } : await findSandbox(context, limits.engineMs);
  if ("why" in found) {
    if (wanted === "sandbox") throw noSandbox(found.why);
    return goLocal(demo, found.why);
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
  await demo.setTerminal(settings);
  const problem = await trySandbox(demo, limits.sandboxMs);
  if (problem !== undefined) {
    demo.dropSandbox(); // not awaited, because the engine may hang
    if (wanted === "sandbox") throw noSandbox(`a ${program} sandbox does not work: ${problem}`);
    return goLocal(demo, `a ${program} sandbox was tried and does not work: ${problem}`, settings);
  }
  return `in a ${program} sandbox (image ${image})`;
}

function noSandbox(why: string): AppError {
  return new AppError("sandbox-unavailable", `The demo found no sandbox: ${why}.`, {
    hint: "Check it with `hermes doctor`, or omit --docker.",
  });
}

/** Makes commands run on this machine. Keeps the other settings, which are needed to remove the failed sandbox. */
async function goLocal(demo: Demo, why: string, settings: object = {}): Promise<string> {
  // The user's login files may be slow or print text, and the demo does not need them.
  await demo.setTerminal({ ...settings, backend: "local", shell_init_files: ["/dev/null"] });
  return `on this machine, in a temporary folder (${why})`;
}

type FoundSandbox =
  | { readonly image: string; readonly binary: string; readonly program: string }
  | { readonly why: string };

/** Finds a responding engine and an image that it already has; nothing is pulled. */
async function findSandbox(context: CommandContext, timeoutMs: number): Promise<FoundSandbox> {
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
    if (image === undefined) return { why: `${program} has no local image, and none is pulled` };
    return { image, binary, program };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof AppError)) throw error;
    return { why: "Docker was not found" };
  }
}

/** The image and binary from the user's settings; empty if the settings cannot be read. */
async function wantedSandbox({ openApp }: CommandContext): Promise<{ image: string; binary: string }> {
  try {
    const { docker_image: image, docker_binary: binary } = (await openApp()).resolved.config.terminal;
    return { image, binary };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { image: "", binary: "" };
  }
}

/** The wanted image, else a base image, else any. Whether it has a shell is tested later. */
export function chooseImage(listed: readonly string[], wanted: string): string | undefined {
  const images = listed.map((line) => line.trim()).filter((name) => name !== "" && !name.includes("<none>"));
  const rank = (name: string): number => {
    const short = name.replace(/^(?:docker\.io\/(?:library\/)?|localhost\/)/, "");
    if (short === wanted || short === `${wanted}:latest`) return -1;
    const position = PLAIN_IMAGES.indexOf(short.replace(/:[^:/]*$/, ""));
    return position === -1 ? PLAIN_IMAGES.length : position;
  };
  return images.toSorted((one, other) => rank(one) - rank(other))[0];
}

/** Creates the sandbox and checks that it can read and write the project. Returns the problem, if any. */
async function trySandbox(demo: Demo, withinMs: number): Promise<string | undefined> {
  const { signal } = demo;
  const limit = AbortSignal.timeout(withinMs);
  const test = `test -r ${PROGRAM} && test -w .`;
  const { ended } = demo.start(["sandbox", "exec", "--", test], AbortSignal.any([signal, limit]));
  const { exitCode, stderr } = await ended;
  signal.throwIfAborted();
  if (exitCode === 0) return undefined;
  if (limit.aborted) return `it was not ready within ${withinMs / 1_000} s`;
  const [line = ""] = stderr.replace(/^hermes: /, "").split("\n");
  return line === "" ? "it cannot access the temporary folder" : line;
}
