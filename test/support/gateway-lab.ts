import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { stringify } from "yaml";
import { GATEWAY_LEASE } from "../../src/gateway/runner/gateway-lease.ts";
import { openGatewayDatabase } from "../../src/gateway/store/gateway-database.ts";
import { createLeases } from "../../src/lib/sqlite/lease.ts";
import { systemClock } from "../../src/lib/time/clock.ts";
import type { ScriptInput } from "../../src/providers/scripted/script.ts";
import { ENTRY } from "./built-program.ts";
import { type HermesRun, tempHome } from "./hermes.ts";
import { withoutWarning } from "./node-warning.ts";
import { mountSmallDisk, type SmallDisk } from "./small-disk.ts";

/** A gateway in a process of its own. */
export interface GatewayProcess extends AsyncDisposable {
  readonly pid: number;
  /** What it printed so far. */
  output(): string;
  /** Resolves when it has printed that it runs. */
  ready(): Promise<void>;
  signal(name: NodeJS.Signals): void;
  /** Its exit code; null if it was killed. */
  readonly ended: Promise<number | null>;
  kill(): Promise<void>;
}

export interface GatewayHome extends AsyncDisposable {
  readonly path: string;
  readonly folder: string;
  hermes(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<HermesRun>;
  /** Starts `hermes gateway run`, by default for the profile of the home itself. */
  start(profile?: string): GatewayProcess;
  /** Starts it and waits until it runs. */
  run(): Promise<GatewayProcess>;
  /** Resolves when `gateway status` reports that a platform is connected. */
  connected(platform: string): Promise<void>;
  /** Makes the last part look as it does when the gateway is killed while it is sent. */
  interruptDelivery(): Promise<void>;
  /** Makes everything that happened look as long ago. */
  age(ms: number): Promise<void>;
  /** The disk of the home, if it was asked for. */
  readonly disk: SmallDisk | undefined;
  setScript(script: ScriptInput): Promise<void>;
  configure(settings: object): Promise<void>;
}

/** A home with a scripted model and these settings; with `diskBytes` on a disk of its own, which needs `mayMount`. */
export async function openGatewayHome(
  script: ScriptInput,
  settings: object,
  { diskBytes = 0 }: { readonly diskBytes?: number } = {},
): Promise<GatewayHome> {
  const home = await tempHome();
  const scriptPath = join(home.folder, "script.json");
  await mkdir(home.path, { mode: 0o700 });
  const disk = diskBytes === 0 ? undefined : await mountSmallDisk(home.path, diskBytes);
  const setScript = (next: ScriptInput): Promise<void> => writeFile(scriptPath, JSON.stringify(next));
  const configure = (next: object): Promise<void> =>
    writeFile(
      join(home.path, "config.yaml"),
      stringify({
        model: { provider: "scripted", default: scriptPath },
        approvals: { mode: "manual" },
        ...next,
      }),
    );
  await setScript(script);
  await configure(settings);
  const start = (profile = "default"): GatewayProcess => {
    const child = spawn(process.execPath, ["--trace-warnings", ENTRY, "-p", profile, "gateway", "run"], {
      cwd: home.folder,
      env: { PATH: process.env["PATH"] ?? "", HOME: home.folder, HERMES_HOME: home.path },
      stdio: ["ignore", "pipe", "pipe"],
    });
    return watchProcess(child);
  };
  return {
    path: home.path,
    folder: home.folder,
    hermes: (args, env) => home.hermes(args, env && { env }),
    start,
    async run() {
      const gateway = start();
      await gateway.ready();
      return gateway;
    },
    disk,
    setScript,
    configure,
    async connected(platform) {
      const read = async (): Promise<string | undefined> => {
        const status = await home.hermes(["gateway", "status", "--json"]);
        const { platforms } = status.json<{ platforms: { name: string; state: string }[] }>();
        return platforms.find(({ name }) => name === platform)?.state;
      };
      await expect.poll(read).toBe("connected");
    },
    async interruptDelivery() {
      const never = new AbortController().signal;
      using database = await openGatewayDatabase(join(home.path, "gateway.sqlite"), systemClock, never);
      const revert = database.prepare(
        "update outbox set state = 'sending', ended_at = null where key = (select max(key) from outbox)",
      );
      await database.write(() => revert.run(), never);
    },
    async age(ms) {
      const never = new AbortController().signal;
      using database = await openGatewayDatabase(join(home.path, "gateway.sqlite"), systemClock, never);
      const chats = database.prepare("update chat set used_at = used_at - ?");
      const turns = database.prepare("update turn set started_at = started_at - ?, ended_at = ended_at - ?");
      await database.write(() => {
        chats.run(ms);
        turns.run(ms, ms);
      }, never);
    },
    async [Symbol.asyncDispose]() {
      await endBackground(join(home.path, "gateway.sqlite"));
      await disk?.[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

/** Ends what `gateway start` has left running, such as in a test that failed before its `stop`. */
async function endBackground(path: string): Promise<void> {
  if (!existsSync(path)) return;
  const never = new AbortController().signal;
  using database = await openGatewayDatabase(path, systemClock, never);
  const owner = await createLeases(database).findLiveOwner(GATEWAY_LEASE, never);
  if (owner !== undefined) process.kill(owner.pid, "SIGKILL");
}

function watchProcess(child: ChildProcess): GatewayProcess {
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  const ended = once(child, "close").then(([code]) => {
    withoutWarning({ stderr: output });
    return code as number | null;
  });
  ended.catch(() => undefined);
  return {
    pid: child.pid ?? 0,
    output: () => output,
    ended,
    async ready() {
      await expect
        .poll(() => (child.exitCode === null && child.signalCode === null ? output : `ended: ${output}`))
        .toMatch(/The gateway runs|^ended/);
      if (output.includes("The gateway runs")) return;
      throw new Error(`the gateway did not start: ${output}`);
    },
    signal: (name) => void child.kill(name),
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
