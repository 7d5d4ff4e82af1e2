import type { SandboxPlan } from "./plan-sandbox.ts";

/** The reason for an error is usually among the last lines. */
const SEEN_BYTES = 16 * 1024;

const READ_ONLY =
  /read-only file system|\bEROFS\b|device or resource busy|\bEBUSY\b|cross-device link|\bEXDEV\b/i;
const REFUSED =
  /permission denied|operation not permitted|no new privileges|must be superuser|must be root|\bE(?:ACCES|PERM)\b/i;
const NO_NETWORK =
  /network is unreachable|\bENETUNREACH\b|could not resolve|temporary failure in name resolution|name or service not known|\bEAI_AGAIN\b|getaddrinfo|cannot assign requested address|connection refused|\bECONNREFUSED\b|failed to connect|could ?n.t connect/i;
const NO_PROCESS = /no such process|\bESRCH\b|process .* not found|\/proc\/\d+.*no such file/i;
const NO_SOCKET =
  /cannot connect to the docker daemon|docker\.sock|podman\.sock|containerd\.sock|failed to connect to bus|authentication agent|no such file or directory.*\.sock/i;
const MISSING = /no such file or directory|\bENOENT\b|cannot open|could not open/i;

/** Watches the output of one command for signs that the sandbox refused something. */
export function createDenialWatch() {
  let seen: Uint8Array = new Uint8Array();
  return {
    see(bytes: Uint8Array): void {
      seen = bytes.length >= SEEN_BYTES ? bytes.subarray(-SEEN_BYTES) : Buffer.concat([seen, bytes]);
      if (seen.length > 2 * SEEN_BYTES) seen = seen.subarray(-SEEN_BYTES);
    },
    explain: (plan: SandboxPlan): string | undefined =>
      explainDenial(plan, Buffer.from(seen).toString("utf8")),
  };
}

/** Why a failed command may have failed because of the sandbox, and what allows it; undefined if nothing suggests that. */
export function explainDenial(plan: SandboxPlan, output: string): string | undefined {
  const namesHidden = plan.hidden.some((path) => output.includes(path));
  const reasons = [
    READ_ONLY.test(output) && describeWritable(plan),
    (namesHidden || REFUSED.test(output)) &&
      "Credentials, the files of Hermes, and permissions of other users are not available in it.",
    !plan.hasNetwork && NO_NETWORK.test(output) && "It has no network.",
    NO_PROCESS.test(output) && "It sees only its own processes.",
    NO_SOCKET.test(output) && "Sockets of container engines, ssh-agent and D-Bus are hidden in it.",
    plan.mode === "strict" && MISSING.test(output) && "It hides your files outside the project.",
  ].filter((reason) => reason !== false);
  if (reasons.length === 0) return undefined;
  return `This ran in the sandbox (terminal.local_sandbox: ${plan.mode}), which may be why it failed. ${reasons.join(" ")} ${describeAlternatives(plan)}`;
}

export function describeWritable({ writable, workspace }: SandboxPlan): string {
  const folders = writable.length === 0 ? "" : `${writable.join(", ")} and `;
  const reason = writable.includes(workspace)
    ? ""
    : ` ${workspace} is not writable, because it contains your home folder or the files of Hermes; start Hermes in the folder of a project.`;
  return `It can write only in ${folders}temporary folders; hooks and settings of git and of editors are read-only.${reason}`;
}

function describeAlternatives({ mode, hasNetwork }: SandboxPlan): string {
  const network =
    mode === "workspace" && !hasNetwork ? "; terminal.local_sandbox_network turns the network on" : "";
  return `If the task needs it, use the tool terminal with outside_sandbox: true, which asks the user. The user can allow a folder with \`hermes config set terminal.local_sandbox_writable '["FOLDER"]'\`${network}.`;
}
