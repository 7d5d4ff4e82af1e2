import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openGatewayHome } from "../test/support/gateway-lab.ts";
import { type ScriptedServer, startScriptedServer } from "../test/support/scripted-server.ts";
import { type ScriptedService, startScriptedService } from "../test/support/scripted-service.ts";
import { type Bench, type Measurement, median, milliseconds } from "./bench.ts";

const ENTRY = resolve("dist/main.cjs");
const ROUNDS = 15;
const WARM_UP = 3;
const SETTLE_MS = 40_000; // V8 collects the garbage of the start for half a minute
const IDLE_MS = 20_000;
const SESSIONS = 1_000;
const HOURS = 24;
const MESSAGES_PER_HOUR = 60;
const BATCH = 20;
const COMPARED_HOURS = 6;
const SERVER = "require('node:http').createServer((_, answer) => answer.end()).listen(0)";

/** What a gateway costs while it waits, how soon it asks the model, and whether it grows. */
export const gatewayBench: Bench = {
  name: "gateway",
  async run() {
    await using model = await startScriptedServer({ answers: [{ text: "done", times: 1_000_000 }] });
    await using service = await startScriptedService();
    const settings = {
      model: { provider: "custom", base_url: `${model.url}/v1`, default: "scripted" },
      platforms: { scripted: { address: service.address, allow_all_users: true } },
      api_server: { enabled: true, port: 0 },
    };
    await using home = await openGatewayHome({ answers: [] }, settings);
    const variables = { HERMES_HOME: home.path, OPENAI_API_KEY: "none-needed" };
    await home.hermes(["config", "set", "OPENAI_API_KEY", "none-needed"]);
    await using gateway = home.start();
    await until(() => gateway.output().includes("The gateway runs"));
    const idle = await measureIdle(gateway.pid);
    const answered = await measureAnswers({ model, service, variables, cwd: home.folder });
    const growth = await measureGrowth(service, gateway.pid);
    return [...idle, answered, growth];
  },
};

async function measureIdle(pid: number): Promise<Measurement[]> {
  const peer = spawn(process.execPath, ["-e", SERVER], { stdio: "ignore" });
  try {
    await sleep(SETTLE_MS);
    const before = wakeUps(pid);
    await sleep(IDLE_MS);
    const perSecond = (wakeUps(pid) - before) / (IDLE_MS / 1_000);
    const [ours, other] = [residentMb(pid), residentMb(peer.pid ?? 0)];
    return [
      {
        name: "memory of an idle gateway ÷ a bare HTTP server of Node",
        ours: `${ours.toFixed(0)} MB`,
        peer: `${other.toFixed(0)} MB`,
        ratio: ours / other,
        budget: { max: 2 },
      },
      {
        name: "times that an idle gateway wakes up, per second",
        ours: perSecond.toFixed(2),
        peer: "1 timer a second",
        ratio: perSecond,
        budget: { max: 1 },
      },
    ];
  } finally {
    await end(peer);
  }
}

interface AnswerParts {
  readonly model: ScriptedServer;
  readonly service: ScriptedService;
  readonly variables: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** From a message of a new chat to the request; compared with a one-shot, from the end of its start. */
async function measureAnswers({ model, service, variables, cwd }: AnswerParts): Promise<Measurement> {
  const times = { ours: [] as number[], whole: [] as number[], start: [] as number[] };
  const env = { ...variables, PATH: process.env["PATH"] ?? "", HOME: cwd };
  for (let round = 0; round < ROUNDS + WARM_UP; round++) {
    const isCounted = round >= WARM_UP;
    const untilRequest = async (begin: () => Promise<void> | void): Promise<number> => {
      const count = model.requests.length;
      const begun = process.hrtime.bigint();
      await begin();
      await until(() => model.requests.length > count);
      return Number((model.requests[count]?.arrivedAt ?? begun) - begun) / 1e6;
    };
    const delivered = service.delivered.length;
    const ours = await untilRequest(() => void service.write("go", personOf(`timed${round}`)));
    await until(() => service.delivered.length > delivered);
    const whole = await untilRequest(async () => {
      await end(spawn(process.execPath, [ENTRY, "-z", "go"], { cwd, env, stdio: "ignore" }), false);
    });
    const begun = performance.now();
    spawnSync(process.execPath, [ENTRY, "config", "get", "model.default"], { cwd, env, stdio: "ignore" });
    const start = performance.now() - begun;
    if (isCounted)
      for (const [name, value] of Object.entries({ ours, whole, start })) times[name as "ours"].push(value);
  }
  const ours = median(times.ours);
  const peer = median(times.whole) - median(times.start);
  return {
    name: "message → first request ÷ one-shot without its start",
    ours: milliseconds(ours),
    peer: milliseconds(peer),
    ratio: ours / peer,
    budget: { max: 1.5 },
  };
}

/** A thousand chats with a session each, and then a day of messages to them. */
async function measureGrowth(service: ScriptedService, pid: number): Promise<Measurement> {
  const send = async (chats: readonly number[]): Promise<void> => {
    for (let from = 0; from < chats.length; from += BATCH) {
      const delivered = service.delivered.length;
      const batch = chats.slice(from, from + BATCH);
      for (const chat of batch) service.write(`message to ${chat}`, personOf(`chat${chat}`));
      await until(() => service.delivered.length >= delivered + batch.length);
    }
  };
  await send(Array.from({ length: SESSIONS }, (_, chat) => chat));
  const memory: number[] = [];
  for (let hour = 0; hour < HOURS; hour++) {
    await send(Array.from({ length: MESSAGES_PER_HOUR }, (_, index) => (hour * 367 + index * 17) % SESSIONS));
    memory.push(residentMb(pid));
  }
  const [first, last] = [median(memory.slice(0, COMPARED_HOURS)), median(memory.slice(-COMPARED_HOURS))];
  return {
    name: `memory after ${HOURS} hours with ${SESSIONS} sessions ÷ in the first ${COMPARED_HOURS}`,
    ours: `${last.toFixed(0)} MB`,
    peer: `${first.toFixed(0)} MB`,
    ratio: last / first,
    budget: { max: 1.1 },
  };
}

/** The helpers of tests wait with vitest, which does not run here. */
async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await sleep(1);
}

function personOf(id: string) {
  return {
    chat: { chatId: id, type: "dm" as const },
    sender: { id, isBot: false, isProven: true },
  };
}

function residentMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1_024;
}

/** How often the main thread has waited. */
function wakeUps(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)?.[1]);
}

async function end(child: ChildProcess, isKilled = true): Promise<void> {
  if (isKilled) child.kill("SIGKILL");
  await once(child, "close");
}
