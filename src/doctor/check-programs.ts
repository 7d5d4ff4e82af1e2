import type { Backend } from "../environments/options.ts";
import { AppError } from "../lib/errors.ts";
import { runProcess } from "../lib/process/process.ts";
import { type CheckInput, type Finding, finding } from "./check.ts";

const ANSWER_WITHIN_MS = 5_000;

/** The first line that a program prints, or why there is none. */
type Answer = { readonly text: string } | { readonly problem: string };

const MISSING: Answer = { problem: "not found" };

export async function checkDocker(input: CheckInput): Promise<Finding[]> {
  const start = "Start it (`systemctl start docker`) and make sure that you have access to its socket.";
  return [await checkEngine("docker", "apt-get install -y docker.io", start, input)];
}

export async function checkPodman(input: CheckInput): Promise<Finding[]> {
  const start = "Run `podman info` to see what it lacks.";
  return [await checkEngine("podman", "apt-get install -y podman", start, input)];
}

async function checkEngine(
  engine: "docker" | "podman",
  install: string,
  start: string,
  input: CheckInput,
): Promise<Finding> {
  const { backend, docker_binary } = input.app.resolved.config.terminal;
  const program = backend === engine && docker_binary !== "" ? docker_binary : engine;
  // podman has no server on Linux, so its client version is enough; docker must reach its engine.
  const format = engine === "docker" ? "{{.Server.Version}}" : "{{.Client.Version}}";
  const answer = await ask([program, "version", "--format", format], "not running", input);
  if ("text" in answer) return finding(engine, "ok", `running, version ${answer.text}`);
  const detail = answer === MISSING ? answer.problem : `found, but ${answer.problem}`;
  return unusable(engine, engine, detail, answer === MISSING ? install : start, input);
}

export async function checkSingularity(input: CheckInput): Promise<Finding[]> {
  for (const program of ["apptainer", "singularity"]) {
    const answer = await ask([program, "version"], "does not run", input);
    if (answer === MISSING) continue;
    if ("text" in answer) return [finding("apptainer", "ok", `${program} ${answer.text}`)];
    const detail = `${program} found, but ${answer.problem}`;
    const fix = `Run \`${program} version\` to see what it lacks.`;
    return [unusable("apptainer", "singularity", detail, fix, input)];
  }
  const fix = "Install Apptainer (https://apptainer.org/docs), or load its module.";
  return [unusable("apptainer", "singularity", "not found", fix, input)];
}

export async function checkSsh(input: CheckInput): Promise<Finding[]> {
  const answer = await ask(["ssh", "-V"], "does not run", input);
  const { backend, ssh_host, ssh_user } = input.app.resolved.config.terminal;
  if (!("text" in answer))
    return [
      finding("ssh", backend === "ssh" ? "fail" : "note", "not found", "apt-get install -y openssh-client"),
    ];
  if (backend === "ssh" && (ssh_host === "" || ssh_user === "")) {
    const fix = "hermes config set terminal.ssh_host HOST; hermes config set terminal.ssh_user USER";
    return [finding("ssh", "fail", `${answer.text}, but host and user are not set`, fix)];
  }
  return [finding("ssh", "ok", answer.text)];
}

/** A program that does not work is a failure only for the backend that needs it. */
function unusable(name: string, backend: Backend, detail: string, fix: string, { app }: CheckInput): Finding {
  if (app.resolved.config.terminal.backend === backend) return finding(name, "fail", detail, fix);
  return finding(name, "note", `${detail}; only needed for terminal.backend ${backend}`, fix);
}

async function ask(
  argv: readonly [string, ...string[]],
  failure: string,
  { app, signal }: CheckInput,
): Promise<Answer> {
  try {
    const result = await runProcess(argv, { env: app.variables, timeoutMs: ANSWER_WITHIN_MS }, signal);
    if (result.timedOut) return { problem: "gave no answer within 5 s" };
    const [text = ""] = (result.stdout.trim() || result.stderr.trim()).split("\n");
    if (result.exitCode === 0) return { text };
    return { problem: `${failure}: ${text || `exit code ${result.exitCode}`}` };
  } catch (error) {
    if (error instanceof AppError && error.code === "process-unstartable") return MISSING;
    throw error;
  }
}
