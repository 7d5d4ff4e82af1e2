import { z } from "zod";

/** In the order in which help lists them. */
export const BACKENDS = ["local", "docker", "podman", "ssh", "singularity"] as const;
export type Backend = (typeof BACKENDS)[number];

export const ISOLATIONS = ["shared", "session", "task"] as const;
export const LOCAL_SANDBOXES = ["off", "workspace", "strict"] as const;

/** Backends of the reference implementation that are not built yet: refused by name, never replaced with `local`. */
const UNBUILT_BACKENDS = ["modal", "managed_modal", "daytona", "vercel_sandbox"];

const DEFAULT_IMAGE = "nikolaik/python-nodejs:python3.11-nodejs20";

/** Describes a setting. `backends` lists the backends that use it; none means all. `env` is an extra name of its variable. */
function settingOf(...backends: readonly Backend[]) {
  const usedBy = backends.length === 0 ? {} : { usedBy: backends };
  return <Schema extends z.ZodType>(description: string, schema: Schema, env?: string): Schema =>
    schema.meta({ description, ...usedBy, ...(env === undefined ? {} : { env }) });
}
const setting = settingOf();
const forLocal = settingOf("local");
const forEngines = settingOf("docker", "podman");
const forContainers = settingOf("docker", "podman", "singularity");
const forSsh = settingOf("ssh");
const forSingularity = settingOf("singularity");

const backend = z.enum(BACKENDS, {
  error: ({ input }) =>
    UNBUILT_BACKENDS.includes(String(input))
      ? `backend ${input} is not built yet; choose one of ${BACKENDS.join(", ")}`
      : `expected one of ${BACKENDS.join(", ")}`,
});
const count = z.int().min(0);
const positive = z.int().min(1);
const amount = z.number().min(0);
const text = z.string();
const texts = z.array(text);
const names = z.array(
  z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "expected names of environment variables"),
);
const flag = z.boolean();

/** Section `terminal`: where commands run and under which limits. */
export const terminalOptions = z.strictObject({
  backend: setting("Where commands run", backend.default("local"), "TERMINAL_ENV"),
  cwd: setting(
    "Folder that commands start in; empty means the current one locally, ~ over SSH, /root in a container",
    text.default(""),
  ),
  timeout: setting("Seconds a foreground command may run by default", positive.default(180)),
  max_foreground_timeout: setting(
    "Longest timeout in seconds that a foreground command may request",
    positive.default(600),
  ),
  lifetime_seconds: setting(
    "Seconds an unused environment is kept open; 0 closes it as soon as it is idle",
    count.default(300),
  ),
  isolation: setting(
    "Who shares a sandbox: every session of the profile, one session with its subagents, or one task",
    z.enum(ISOLATIONS).default("shared"),
  ),
  env_passthrough: setting(
    "Names of host variables that are passed to commands; provider keys are never passed",
    names.default([]),
  ),
  home_mode: setting(
    "HOME of commands: auto is the real one on hosts and the profile's own in containers",
    z.enum(["auto", "real", "profile"]).default("auto"),
  ),
  shell_init_files: setting(
    "Files sourced before the first command, instead of the login files",
    texts.default([]),
  ),
  auto_source_bashrc: setting("Source ~/.bashrc when no init files are named", flag.default(true)),
  local_sandbox: forLocal(
    "Sandbox of the kernel around local commands: workspace hides credentials and lets them write only the project and temporary folders; strict also hides your other files and the network",
    z.enum(LOCAL_SANDBOXES).default("off"),
  ),
  local_sandbox_network: forLocal(
    "Give commands in the local sandbox network access; strict never does",
    flag.default(true),
  ),
  local_sandbox_writable: forLocal(
    "More folders that commands in the local sandbox may read and write",
    texts.default([]),
  ),
  sandbox_dir: setting(
    "Folder for files of sandboxes on the host; empty means sandboxes/ in the home",
    text.default(""),
  ),
  scratch_dir: forSingularity(
    "Folder for overlays and image caches; empty means /scratch/$USER where writable, else sandbox_dir",
    text.default(""),
  ),
  disk_warning_gb: forSingularity(
    "Warn when the scratch folder holds more than this many gigabytes",
    amount.default(500),
  ),
  daemon_term_grace_seconds: setting(
    "Seconds between TERM and KILL when a background job is ended",
    amount.default(2),
  ),
  credential_files: forSsh(
    "Files to copy to ~/.hermes on the host, relative to the profile's home",
    texts.default([]),
  ),
  force_file_sync: forSsh(
    "Copy files to remote environments before every command instead of only when they changed",
    flag.default(false),
    "HERMES_FORCE_FILE_SYNC",
  ),
  container_cpu: forContainers("CPU cores a container may use; 0 means no limit", amount.default(1)),
  container_memory: forContainers("Memory in MB a container may use; 0 means no limit", count.default(5120)),
  container_disk: forContainers(
    "Disk in MB a container may use where the storage driver can limit it; 0 means no limit",
    count.default(51200),
  ),
  container_persistent: forContainers(
    "Keep the files of a container on the host when the container is removed; if false, /root and /workspace are in memory and lost when the container stops",
    flag.default(true),
  ),
  docker_image: forEngines("Image of the sandbox", text.min(1).default(DEFAULT_IMAGE)),
  docker_binary: forEngines(
    "Container program to use; empty means the first of docker and podman that is found",
    text.default(""),
    "HERMES_DOCKER_BINARY",
  ),
  docker_volumes: forEngines("Extra mounts as host:container[:ro]", texts.default([])),
  docker_allow_engine_socket: forEngines(
    "Let docker_volumes and docker_extra_args pass a container engine's socket to the sandbox; its commands then control the whole machine",
    flag.default(false),
  ),
  docker_forward_env: forEngines(
    "Names of variables whose values are forwarded to the container",
    names.default([]),
  ),
  docker_env: forEngines(
    "Variables set in the container, with their values",
    z
      .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.union([z.string(), z.number(), z.boolean()]))
      .default({}),
  ),
  docker_extra_args: forEngines("Extra arguments for the create command, appended last", texts.default([])),
  docker_mount_cwd_to_workspace: forEngines(
    "Mount the current folder of the host at /workspace",
    flag.default(false),
  ),
  docker_run_as_host_user: forEngines(
    "Run as the numeric user and group of the host user",
    flag.default(false),
  ),
  docker_persist_across_processes: forContainers(
    "Reuse one container for all processes of a profile; false gives each process its own",
    flag.default(true),
  ),
  docker_orphan_reaper: forContainers(
    "Remove abandoned containers of this profile at start",
    flag.default(true),
  ),
  docker_on_drift: forEngines(
    "What to do when a reused container was created with other settings; replace saves it as a snapshot first",
    z.enum(["keep", "replace", "refuse"]).default("keep"),
  ),
  docker_idle_ttl_seconds: forContainers(
    "Stop a running container that has been unused for this long, which deletes its files in memory (container_persistent); 0 means never",
    count.default(86_400),
  ),
  docker_max_age_seconds: forContainers(
    "Stop a container that no process has held for this long, unless a job runs in it; 0 means never",
    count.default(0),
  ),
  docker_stopped_ttl_seconds: forEngines(
    "Remove the sandbox of a task when it has been stopped for this long, however it stopped; 0 means never",
    count.default(1_209_600),
  ),
  docker_snapshot_ttl_seconds: forEngines(
    "Remove snapshots of a sandbox that are this old and that no sandbox needs; 0 means never",
    count.default(604_800),
  ),
  docker_pids_limit: forEngines("Processes a container may have; 0 means no limit", count.default(1024)),
  docker_pull_timeout_seconds: forEngines("Longest time in seconds to pull the image", positive.default(600)),
  docker_network: forEngines("Give the container network access", flag.default(true)),
  docker_shm_size: forEngines("Size of /dev/shm; empty or 0 means the engine's default", text.default("1g")),
  docker_snap_compat: forEngines(
    "Omit options that the snap build of Docker rejects; this weakens the sandbox",
    flag.default(false),
  ),
  docker_runtime: forEngines(
    "Container runtime, such as runsc; empty means the engine's default",
    text.default(""),
  ),
  docker_read_only: forEngines("Make the root file system of the container read-only", flag.default(false)),
  ssh_host: forSsh("Host that commands run on", text.default("")),
  ssh_user: forSsh("User on that host", text.default("")),
  ssh_port: forSsh("Port of its SSH server", positive.max(65_535).default(22)),
  ssh_key: forSsh("Path of the private key; empty means the default keys of ssh", text.default("")),
  singularity_image: forSingularity(
    "Image of the instance: a .sif file, an image folder or a docker:// address",
    text.min(1).default(`docker://${DEFAULT_IMAGE}`),
  ),
});

export type TerminalOptions = z.infer<typeof terminalOptions>;
