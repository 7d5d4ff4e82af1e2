import { spawn, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type ScriptedServer, startScriptedServer } from "../test/support/scripted-server.ts";
import { loadPart } from "../test/support/services.ts";
import { type Bench, type Measurement, median, milliseconds } from "./bench.ts";
import { fetchPeer } from "./peer.ts";
import { runningEngine } from "./sandbox.ts";

const CALLS = 30;
/** Calls of a long turn, whose steps must not become slower with its length. */
const LONG_CALLS = 2_000;
const WINDOW = 100;
/**
 * A model that thinks before each answer, as real ones do. After such a pause the processor's caches are cold for every call, so the
 * ratio of the first call to a later one shows only the cost of being the first.
 */
const THOUGHTFUL = { answerMs: 300, calls: 8 };
/** A tool call takes five events on the wire. */
const EVENTS_OF_CALL = 5;
const ROUNDS = 5;
const PEER = "@earendil-works/pi-coding-agent";
const PEER_VERSION = "0.74.2";
const ENTRY = resolve("dist/main.cjs");

/** What a step of the agent adds to the model's own time, compared with another agent on the same scripted model. */
export const agentBench: Bench = {
  name: "agent",
  async run() {
    const modules = await fetchPeer(PEER, PEER_VERSION);
    const folder = await mkdtemp(join(tmpdir(), "hermes-bench-"));
    const service = runningEngine();
    const docker = {
      TERMINAL_ENV: "docker",
      TERMINAL_DOCKER_IMAGE: service.images.bash,
      TERMINAL_DOCKER_NETWORK: "false",
      TERMINAL_CONTAINER_DISK: "0",
      HERMES_DOCKER_BINARY: service.client,
      DOCKER_HOST: service.host,
    };
    const runs = {
      local: ours(join(folder, "local"), {}),
      docker: ours(join(folder, "docker"), docker),
      thoughtful: ours(join(folder, "local"), {}, THOUGHTFUL),
      thoughtfulDocker: ours(join(folder, "docker"), docker, THOUGHTFUL),
      peer: peer(join(folder, "peer"), join(modules, PEER, "dist", "cli.js")),
    };
    const names = ["local", "docker", "thoughtful", "thoughtfulDocker", "peer"] as const;
    const found = Object.fromEntries(names.map((name) => [name, [] as Timing[]])) as Record<
      (typeof names)[number],
      Timing[]
    >;
    let long: Timing;
    try {
      long = await ours(join(folder, "local"), {}, { calls: LONG_CALLS })();
      for (let round = 0; round < ROUNDS + 1; round++) {
        for (const name of names) {
          const timing = await runs[name]();
          if (round > 0) found[name].push(timing); // the first round creates the sandbox and warms the caches
        }
      }
    } finally {
      removeSandboxes(folder);
      await rm(folder, { recursive: true, force: true });
    }
    const step = (name: keyof typeof found): number => median(found[name].map(({ stepMs }) => stepMs));
    const whole = (name: keyof typeof found): number => median(found[name].map(({ wholeMs }) => wholeMs));
    const first = (name: keyof typeof found): number => median(found[name].map(({ firstMs }) => firstMs));
    return [
      line("first call ÷ a later one, locally", first("thoughtful"), step("thoughtful"), 1.5),
      line(
        "first call ÷ a later one, in a sandbox",
        first("thoughtfulDocker"),
        step("thoughtfulDocker"),
        1.5,
      ),
      line("step with a local command ÷ pi", step("local"), step("peer"), 0.7),
      line("step with a command in a sandbox ÷ pi", step("docker"), step("peer"), 0.9),
      line(`one-shot of ${CALLS} calls ÷ pi`, whole("local"), whole("peer"), 0.4),
      line(`one-shot of ${CALLS} calls in a sandbox ÷ pi`, whole("docker"), whole("peer"), 1),
      line(
        `the last ${WINDOW} of ${LONG_CALLS} steps ÷ the first ${WINDOW}`,
        median(long.steps.slice(-WINDOW)),
        median(long.steps.slice(1, WINDOW + 1)),
        1.3,
      ),
    ];
  },
};

interface Timing {
  /** From the end of the first answer to the next request. */
  readonly firstMs: number;
  /** The median of the same time for the later answers. */
  readonly stepMs: number;
  /** All these times in order. */
  readonly steps: readonly number[];
  readonly wholeMs: number;
}

function line(name: string, mine: number, other: number, max: number): Measurement {
  return { name, ours: milliseconds(mine), peer: milliseconds(other), ratio: mine / other, budget: { max } };
}

interface Course {
  readonly answerMs?: number;
  readonly calls?: number;
}

function script(tool: string, { answerMs = 0, calls = CALLS }: Course = {}) {
  const tools = [{ name: tool, input: { command: "echo {n}" } }];
  return {
    answers: [
      { tools, delay_ms: answerMs / EVENTS_OF_CALL, times: calls },
      { text: "done", usage: { input: 100, output: 5 } },
    ],
  };
}

/** Runs the agent once on a scripted model that calls `terminal` in each answer. */
export function ours(
  home: string,
  variables: Readonly<Record<string, string>>,
  course: Course = {},
): () => Promise<Timing> {
  return async () => {
    await mkdir(home, { recursive: true });
    await using server = await startScriptedServer(script("terminal", course));
    const env = {
      ...variables,
      HERMES_HOME: home,
      HERMES_MODEL_BASE_URL: `${server.url}/v1`,
      HERMES_MODEL_PROVIDER: "custom",
      HERMES_MODEL_DEFAULT: "scripted",
      OPENAI_API_KEY: "none-needed",
    };
    const { calls = CALLS } = course;
    return await measure(server, [ENTRY, "--max-turns", `${calls + 1}`, "-z", "go"], env, home, calls);
  };
}

function peer(home: string, entry: string): () => Promise<Timing> {
  return async () => {
    await mkdir(home, { recursive: true });
    await using server = await startScriptedServer(script("bash"));
    const model = {
      id: "scripted",
      name: "scripted",
      reasoning: false,
      input: ["text"],
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
      contextWindow: 128_000,
      maxTokens: 4_096,
    };
    const provider = {
      baseUrl: `${server.url}/v1`,
      api: "openai-completions",
      apiKey: "none-needed",
      models: [model],
    };
    await writeFile(join(home, "models.json"), JSON.stringify({ providers: { bench: provider } }));
    const env = { PI_CODING_AGENT_DIR: home, PI_OFFLINE: "1", PI_TELEMETRY: "0" };
    return await measure(
      server,
      [entry, "-p", "--provider", "bench", "--model", "scripted", "go"],
      env,
      home,
    );
  };
}

async function measure(
  server: ScriptedServer,
  args: readonly string[],
  variables: Readonly<Record<string, string>>,
  cwd: string,
  calls = CALLS,
): Promise<Timing> {
  const started = performance.now();
  const output = await new Promise<string>((done, fail) => {
    const child = spawn(process.execPath, args, {
      cwd,
      env: { PATH: process.env["PATH"], HOME: cwd, ...variables },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let text = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (part) => (text += part));
    child.once("error", fail);
    child.once("close", (code) =>
      code === 0 ? done(text) : fail(new Error(`${args[0]} ended with ${code}: ${text}`)),
    );
  });
  const wholeMs = performance.now() - started;
  const { requests } = server;
  if (requests.length !== calls + 1 || !output.includes("done"))
    throw new Error(`${args[0]} made ${requests.length} requests: ${output}`);
  const steps = requests.slice(1).map(({ arrivedAt }, index) => {
    const { answeredAt = arrivedAt } = requests[index] ?? { answeredAt: arrivedAt };
    return Number(arrivedAt - answeredAt) / 1e6;
  });
  return { firstMs: steps[0] ?? Number.NaN, stepMs: median(steps.slice(1)), steps, wholeMs };
}

/** Removes the sandboxes of the homes of this benchmark. */
function removeSandboxes(folder: string): void {
  const service = loadPart("docker");
  if (service.state !== "running") return;
  // If the first run failed, no sandbox exists; the result is ignored, so that the first error is reported.
  spawnSync(process.execPath, [ENTRY, "sandbox", "rm", "--force"], {
    env: {
      PATH: process.env["PATH"],
      HOME: folder,
      HERMES_HOME: join(folder, "docker"),
      TERMINAL_ENV: "docker",
      HERMES_DOCKER_BINARY: service.client,
      DOCKER_HOST: service.host,
    },
    stdio: "ignore",
  });
}
