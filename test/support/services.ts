import { readFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { describe } from "vitest";
import { z } from "zod";

const serverProcess = z.object({ pid: z.number(), startTime: z.number(), bootId: z.string() });
const images = z.object({ bash: z.string(), busybox: z.string() });

const running = z.object({ state: z.literal("running"), version: z.string() });
const notRunning = z.object({ state: z.enum(["stopped", "unavailable"]), reason: z.string() });

const docker = running.extend({
  socket: z.string(),
  host: z.string(),
  client: z.string(),
  images,
  process: serverProcess,
});
const podman = running.extend({
  client: z.string(),
  containersConf: z.string(),
  storageConf: z.string(),
  env: z.record(z.string(), z.string()),
  images,
});
const ssh = running.extend({
  host: z.string(),
  port: z.number(),
  user: z.string(),
  identityFile: z.string(),
  knownHosts: z.string(),
  process: serverProcess,
});
const postgres = running.extend({
  url: z.string(),
  port: z.number(),
  socketFolder: z.string(),
  process: serverProcess,
});
const chromium = running.extend({ executable: z.string() });
const irc = running.extend({ host: z.string(), port: z.number(), process: serverProcess });
const bubblewrap = running.extend({ executable: z.string() });
const mail = running.extend({
  host: z.string(),
  imapPort: z.number(),
  smtpPort: z.number(),
  password: z.string(),
  caFile: z.string(),
  authservId: z.string(),
  signingDomain: z.string(),
  signingKeyFile: z.string(),
  boxes: z.string(),
  process: serverProcess,
});

const statusSchema = z.object({
  folder: z.string(),
  parts: z.object({
    docker: z.union([docker, notRunning]),
    podman: z.union([podman, notRunning]),
    ssh: z.union([ssh, notRunning]),
    postgres: z.union([postgres, notRunning]),
    chromium: z.union([chromium, notRunning]),
    irc: z.union([irc, notRunning]).default(stoppedService("not started")),
    // Absent in a status that an earlier version of scripts/test-services has written.
    bubblewrap: z
      .union([bubblewrap, notRunning])
      .default({ state: "stopped", reason: "not started: run scripts/test-services start" }),
    mail: z.union([mail, notRunning]).default(stoppedService("not started")),
  }),
});

type ServicesStatus = z.infer<typeof statusSchema>;
type Part = keyof ServicesStatus["parts"];
/** How to connect to a running part. */
export type RunningPart<P extends Part> = Extract<ServicesStatus["parts"][P], { state: "running" }>;
type NotRunning = z.infer<typeof notRunning>;

/** The settings of an environment on the SSH server of the tests. */
export function sshSettings({ host, user, port, identityFile }: RunningPart<"ssh">) {
  return {
    backend: "ssh" as const,
    ssh_host: host,
    ssh_user: user,
    ssh_port: port,
    ssh_key: identityFile,
  };
}

/** A PATH on which this client is found first, as for a user: a client that is named by a setting gets extra requests. */
export function pathOf(client: string): string {
  return [dirname(client), process.env["PATH"] ?? ""].join(delimiter);
}

/** The folder of `scripts/test-services`, by the same rule as there. */
function servicesFolder(env: NodeJS.ProcessEnv = process.env): string {
  return (
    env["HERMES_TEST_SERVICES"] ||
    join(env["TMPDIR"] || "/tmp", `hermes-test-services-${process.getuid?.() ?? "none"}`)
  );
}

/** Parses the output of `scripts/test-services status --json`, which `start` also writes to status.json. */
export function parseServicesStatus(text: string): ServicesStatus {
  return statusSchema.parse(JSON.parse(text));
}

/** The part as `start` recorded it; a server that has exited since, or is from an earlier boot, does not count as running. */
export function loadPart<P extends Part>(part: P, folder = servicesFolder()): RunningPart<P> | NotRunning {
  const status = loadStatus(folder);
  if (status === undefined) return stoppedService("not started");
  const found: ServicesStatus["parts"][Part] = status.parts[part];
  if (found.state === "running" && "process" in found && !isAlive(found.process)) {
    return stoppedService("its server has exited");
  }
  return found as RunningPart<P> | NotRunning;
}

/** `describe` where the part runs; elsewhere its tests are skipped, with the reason in the name. */
export function describeWith<P extends Part>(
  part: P,
  name: string,
  body: (service: RunningPart<P>) => void,
): void {
  const found: RunningPart<Part> | NotRunning = loadPart(part);
  if (found.state === "running") {
    describe(name, () => body(found as RunningPart<P>));
  } else {
    describe.skip(`${name} [skipped, ${part} ${found.state}: ${found.reason}]`, () => body(nowhere[part]));
  }
}

function stoppedService(why: string): NotRunning {
  return { state: "stopped", reason: `${why}: run scripts/test-services start` };
}

function loadStatus(folder: string): ServicesStatus | undefined {
  try {
    return parseServicesStatus(readFileSync(join(folder, "status.json"), "utf8"));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

function isAlive({ pid, startTime, bootId }: z.infer<typeof serverProcess>): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" "); // the program name before may contain spaces
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return fields[0] !== "Z" && Number(fields[19]) === startTime && boot === bootId;
  } catch {
    return false;
  }
}

const blank = { state: "running", version: "" } as const;
const noProcess = { pid: 0, startTime: 0, bootId: "" };
const noImages = { bash: "none", busybox: "none" }; // valid names, because some suites create settings from them at once

/** Passed to skipped suites, which must still be declared so that each of their tests is counted. */
const nowhere: { readonly [P in Part]: RunningPart<P> } = {
  docker: { ...blank, socket: "", host: "", client: "", images: noImages, process: noProcess },
  podman: { ...blank, client: "", containersConf: "", storageConf: "", env: {}, images: noImages },
  ssh: { ...blank, host: "", port: 0, user: "", identityFile: "", knownHosts: "", process: noProcess },
  postgres: { ...blank, url: "", port: 0, socketFolder: "", process: noProcess },
  chromium: { ...blank, executable: "" },
  irc: { ...blank, host: "", port: 0, process: noProcess },
  bubblewrap: { ...blank, executable: "" },
  mail: {
    ...blank,
    host: "",
    imapPort: 0,
    smtpPort: 0,
    password: "",
    caFile: "",
    authservId: "",
    signingDomain: "",
    signingKeyFile: "",
    boxes: "",
    process: noProcess,
  },
};
