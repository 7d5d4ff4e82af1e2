import type { Backend } from "../../environments/options.ts";
import { AppError } from "../../lib/errors.ts";
import { runProcess } from "../../lib/process.ts";
import type { CheckInput, Finding } from "./check.ts";

const ANSWER_WITHIN_MS = 5_000;

type Answer =
  | { state: "missing" }
  | { state: "silent" }
  | { state: "failed"; reason: string }
  | { state: "ok"; text: string };

export async function checkDocker(input: CheckInput): Promise<Finding[]> {
  return [
    await checkEngine(
      "docker",
      "apt-get install -y docker.io",
      "Start it (`systemctl start docker`) and see that you may use its socket.",
      input,
    ),
  ];
}

export async function checkPodman(input: CheckInput): Promise<Finding[]> {
  return [
    await checkEngine(
      "podman",
      "apt-get install -y podman",
      "Run `podman info` to see what it lacks.",
      input,
    ),
  ];
}

export async function checkSingularity(input: CheckInput): Promise<Finding[]> {
  const chosen = input.app.resolved.config.terminal.backend === "singularity";
  const status = chosen ? "fail" : "note";
  const remark = chosen ? "" : "; only needed for terminal.backend singularity";
  const name = "apptainer";
  for (const program of ["apptainer", "singularity"]) {
    const answer = await ask([program, "version"], input);
    if (answer.state === "missing") continue;
    if (answer.state === "ok") return [{ name, status: "ok", detail: `${program} ${answer.text}`, fix: "" }];
    const reason = answer.state === "silent" ? "gave no answer within 5 s" : `does not run: ${answer.reason}`;
    const fix = `Run \`${program} version\` to see what it lacks.`;
    return [{ name, status, detail: `${program} found, but ${reason}${remark}`, fix }];
  }
  const fix = "Install Apptainer (https://apptainer.org/docs), or load its module.";
  return [{ name, status, detail: `not found${remark}`, fix }];
}

export async function checkSsh(input: CheckInput): Promise<Finding[]> {
  const answer = await ask(["ssh", "-V"], input);
  const { backend, ssh_host, ssh_user } = input.app.resolved.config.terminal;
  if (answer.state !== "ok") {
    const status = backend === "ssh" ? "fail" : "note";
    return [{ name: "ssh", status, detail: "not found", fix: "apt-get install -y openssh-client" }];
  }
  if (backend === "ssh" && (ssh_host === "" || ssh_user === "")) {
    const fix = "hermes config set terminal.ssh_host HOST; hermes config set terminal.ssh_user USER";
    return [{ name: "ssh", status: "fail", detail: `${answer.text}, but host and user are not set`, fix }];
  }
  return [{ name: "ssh", status: "ok", detail: answer.text, fix: "" }];
}

async function checkEngine(
  engine: Backend & ("docker" | "podman"),
  install: string,
  start: string,
  input: CheckInput,
): Promise<Finding> {
  const { backend, docker_binary } = input.app.resolved.config.terminal;
  const chosen = backend === engine;
  const program = chosen && docker_binary !== "" ? docker_binary : engine;
  const trouble = chosen ? "fail" : "note";
  const remark = chosen ? "" : `; only needed for terminal.backend ${engine}`;
  // podman has no server on Linux and answers for itself; docker must reach its engine.
  const format = engine === "docker" ? "{{.Server.Version}}" : "{{.Client.Version}}";
  const answer = await ask([program, "version", "--format", format], input);
  switch (answer.state) {
    case "ok":
      return { name: engine, status: "ok", detail: `running, version ${answer.text}`, fix: "" };
    case "missing":
      return { name: engine, status: trouble, detail: `not found${remark}`, fix: install };
    case "silent":
      return {
        name: engine,
        status: trouble,
        detail: `found, but gave no answer within 5 s${remark}`,
        fix: start,
      };
    case "failed":
      return {
        name: engine,
        status: trouble,
        detail: `found, but not running: ${answer.reason}${remark}`,
        fix: start,
      };
  }
}

async function ask(argv: readonly [string, ...string[]], { variables, signal }: CheckInput): Promise<Answer> {
  try {
    const result = await runProcess(argv, { env: variables, timeoutMs: ANSWER_WITHIN_MS }, signal);
    if (result.timedOut) return { state: "silent" };
    const [text = ""] = (result.stdout.trim() || result.stderr.trim()).split("\n");
    if (result.exitCode !== 0) return { state: "failed", reason: text || `exit code ${result.exitCode}` };
    return { state: "ok", text };
  } catch (error) {
    if (error instanceof AppError && error.code === "process-unstartable") return { state: "missing" };
    throw error;
  }
}
