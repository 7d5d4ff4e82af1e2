import { z } from "zod";

/** Where commands can run today, in the order help shows them. */
export const BACKENDS = ["local", "docker", "podman", "ssh", "singularity"] as const;
export type Backend = (typeof BACKENDS)[number];

/** Named by the reference, not built here yet: refused by name, never a silent fall back to the local machine. */
const UNBUILT_BACKENDS = ["modal", "managed_modal", "daytona", "vercel_sandbox"];

const DEFAULT_IMAGE = "nikolaik/python-nodejs:python3.11-nodejs20";

const ENGINES: readonly Backend[] = ["docker", "podman"];
const CONTAINERS: readonly Backend[] = ["docker", "podman", "singularity"];
const SSH: readonly Backend[] = ["ssh"];
const SINGULARITY: readonly Backend[] = ["singularity"];

const backend = z.enum(BACKENDS, {
  error: ({ input }) =>
    UNBUILT_BACKENDS.includes(String(input))
      ? `backend ${input} is not built yet; choose one of ${BACKENDS.join(", ")}`
      : `expected one of ${BACKENDS.join(", ")}`,
});
const seconds = z.int().min(0);
const text = z.string();
const names = z.array(
  z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "expected names of environment variables"),
);
const flag = z.boolean();

/** Section `terminal`: where commands run and under which limits. */
export const terminalOptions = z.strictObject({
  backend: backend.default("local").meta({ description: "Where commands run", env: "TERMINAL_ENV" }),
  cwd: text.default("").meta({
    description:
      "Folder that commands start in; empty means the current one locally, ~ over SSH, /root in a container",
  }),
  timeout: z
    .int()
    .min(1)
    .default(180)
    .meta({ description: "Seconds a foreground command may run by default" }),
  max_foreground_timeout: z.int().min(1).default(600).meta({
    description: "Longest timeout in seconds that a foreground command may ask for",
  }),
  lifetime_seconds: seconds.default(300).meta({
    description: "Seconds an unused environment is kept open; 0 closes it as soon as it is idle",
  }),
  isolation: z.enum(["shared", "session", "task"]).default("shared").meta({
    description:
      "Who shares a sandbox: every session of the profile, one session with its subagents, or one task",
  }),
  env_passthrough: names.default([]).meta({
    description: "Variables of the host that commands may see, by name; provider keys are never passed",
  }),
  home_mode: z.enum(["auto", "real", "profile"]).default("auto").meta({
    description: "HOME of commands: auto is the real one on hosts and the profile's own in containers",
  }),
  shell_init_files: z.array(text).default([]).meta({
    description: "Files sourced before the first command, instead of the login files",
  }),
  auto_source_bashrc: flag
    .default(true)
    .meta({ description: "Source ~/.bashrc when no init files are named" }),
  sandbox_dir: text.default("").meta({
    description: "Folder for files of sandboxes on the host; empty means sandboxes/ in the home",
  }),
  scratch_dir: text.default("").meta({
    description:
      "Folder for overlays and image caches; empty means /scratch/$USER where writable, else sandbox_dir",
    usedBy: SINGULARITY,
  }),
  disk_warning_gb: z.number().min(0).default(500).meta({
    description: "Warn when the scratch folder holds more than this many gigabytes",
    usedBy: SINGULARITY,
  }),
  daemon_term_grace_seconds: z.number().min(0).default(2).meta({
    description: "Seconds between TERM and KILL when a background job is ended",
  }),
  credential_files: z.array(text).default([]).meta({
    description: "Files of the profile's home, relative to it, that the host gets below ~/.hermes",
    usedBy: SSH,
  }),
  force_file_sync: flag.default(false).meta({
    description: "Copy files to remote environments before every command instead of only when they changed",
    env: "HERMES_FORCE_FILE_SYNC",
    usedBy: SSH,
  }),
  container_cpu: z.number().min(0).default(1).meta({
    description: "CPU cores a container may use; 0 means no limit",
    usedBy: CONTAINERS,
  }),
  container_memory: z.int().min(0).default(5120).meta({
    description: "Memory in MB a container may use; 0 means no limit",
    usedBy: CONTAINERS,
  }),
  container_disk: z.int().min(0).default(51200).meta({
    description: "Disk in MB a container may use where the storage driver can limit it; 0 means no limit",
    usedBy: CONTAINERS,
  }),
  container_persistent: flag.default(true).meta({
    description: "Keep the files of a container on the host between its lives",
    usedBy: CONTAINERS,
  }),
  docker_image: z.string().min(1).default(DEFAULT_IMAGE).meta({
    description: "Image of the sandbox",
    usedBy: ENGINES,
  }),
  docker_binary: text.default("").meta({
    description: "Container program to use; empty means the first of docker and podman that is found",
    env: "HERMES_DOCKER_BINARY",
    usedBy: ENGINES,
  }),
  docker_volumes: z.array(text).default([]).meta({
    description: "Extra mounts as host:container[:ro]",
    usedBy: ENGINES,
  }),
  docker_allow_engine_socket: flag.default(false).meta({
    description:
      "Let docker_volumes and docker_extra_args hand a container engine's socket to the sandbox, whose commands then control the whole machine",
    usedBy: ENGINES,
  }),
  docker_forward_env: names.default([]).meta({
    description: "Variables whose values are handed into the container, by name",
    usedBy: ENGINES,
  }),
  docker_env: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.union([z.string(), z.number(), z.boolean()]))
    .default({})
    .meta({ description: "Variables set in the container, with their values", usedBy: ENGINES }),
  docker_extra_args: z.array(text).default([]).meta({
    description: "Further arguments of the create command, placed last",
    usedBy: ENGINES,
  }),
  docker_mount_cwd_to_workspace: flag.default(false).meta({
    description: "Mount the current folder of the host at /workspace",
    usedBy: ENGINES,
  }),
  docker_run_as_host_user: flag.default(false).meta({
    description: "Run as the numeric user and group of the host user",
    usedBy: ENGINES,
  }),
  docker_persist_across_processes: flag.default(true).meta({
    description: "Reuse one container for all processes of a profile; false gives each process its own",
    usedBy: CONTAINERS,
  }),
  docker_orphan_reaper: flag.default(true).meta({
    description: "Remove abandoned containers of this profile at start",
    usedBy: CONTAINERS,
  }),
  docker_on_drift: z.enum(["keep", "replace", "refuse"]).default("keep").meta({
    description: "What to do when a reused container was made with other settings",
    usedBy: ENGINES,
  }),
  docker_idle_ttl_seconds: seconds.default(86_400).meta({
    description: "Stop a running container that nobody has used for this long; 0 means never",
    usedBy: CONTAINERS,
  }),
  docker_max_age_seconds: seconds.default(0).meta({
    description:
      "Stop a container that nobody holds and that was last held this long ago, unless a job runs in it; 0 means never",
    usedBy: CONTAINERS,
  }),
  docker_stopped_ttl_seconds: seconds.default(1_209_600).meta({
    description:
      "Remove the sandbox of a task when it has been stopped for this long, however it stopped; 0 means never",
    usedBy: ENGINES,
  }),
  docker_snapshot_ttl_seconds: seconds.default(604_800).meta({
    description: "Remove snapshots of a sandbox that are this old and that no sandbox needs; 0 means never",
    usedBy: ENGINES,
  }),
  docker_pids_limit: z.int().min(0).default(1024).meta({
    description: "Processes a container may have; 0 means no limit",
    usedBy: ENGINES,
  }),
  docker_pull_timeout_seconds: z.int().min(1).default(600).meta({
    description: "Seconds that fetching the image may take",
    usedBy: ENGINES,
  }),
  docker_network: flag.default(true).meta({
    description: "Give the container a network; false cuts it off",
    usedBy: ENGINES,
  }),
  docker_shm_size: text.default("1g").meta({
    description: "Size of /dev/shm; empty or 0 leaves the engine's own",
    usedBy: ENGINES,
  }),
  docker_snap_compat: flag.default(false).meta({
    description: "Leave out options that the snap build of Docker refuses; weakens the sandbox",
    usedBy: ENGINES,
  }),
  docker_runtime: text.default("").meta({
    description: "Runtime of the engine such as runsc; empty means its default",
    usedBy: ENGINES,
  }),
  docker_read_only: flag.default(false).meta({
    description: "Make the root file system of the container read-only",
    usedBy: ENGINES,
  }),
  ssh_host: text.default("").meta({ description: "Host that commands run on", usedBy: SSH }),
  ssh_user: text.default("").meta({ description: "User on that host", usedBy: SSH }),
  ssh_port: z
    .int()
    .min(1)
    .max(65_535)
    .default(22)
    .meta({ description: "Port of its SSH server", usedBy: SSH }),
  ssh_key: text.default("").meta({
    description: "Path of the private key; empty means what ssh itself would use",
    usedBy: SSH,
  }),
  singularity_image: z.string().min(1).default(`docker://${DEFAULT_IMAGE}`).meta({
    description: "Image of the instance: a .sif file, an image folder or a docker:// address",
    usedBy: SINGULARITY,
  }),
});

export type TerminalOptions = z.infer<typeof terminalOptions>;
