import { execFile, execFileSync } from "node:child_process";
import { lookup } from "node:dns/promises";
import { readFileSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { playRole, print } from "./child-role.ts";
import { startModelsServer } from "./models-server.ts";

// Runs in a network namespace of its own (`unshare --net --mount`), whose default route leads to an interface that counts.

const INTERFACE = "out0";

interface Input {
  readonly entry: string;
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  /** `{address}` stands for the address of the model server on loopback. */
  readonly commands: readonly (readonly string[])[];
}

export interface NetworkReport {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Packets that left for any address but loopback. */
  readonly packets: number;
}

await playRole({
  async runCommands({ entry, folder, env, commands }: Input) {
    const run = (program: string, ...args: string[]) => execFileSync(program, args, { stdio: "pipe" });
    run("ip", "link", "set", "lo", "up");
    run("ip", "link", "add", INTERFACE, "type", "veth", "peer", "name", "in0");
    writeFileSync(`/proc/sys/net/ipv6/conf/${INTERFACE}/disable_ipv6`, "1"); // its own announcements would count
    run("ip", "address", "add", "10.9.0.1/24", "dev", INTERFACE);
    for (const end of [INTERFACE, "in0"]) run("ip", "link", "set", end, "up");
    run("ip", "neighbour", "add", "10.9.0.2", "lladdr", "02:00:00:00:00:01", "dev", INTERFACE);
    run("ip", "route", "add", "default", "via", "10.9.0.2");
    const resolver = `${folder}/resolv.conf`;
    writeFileSync(resolver, "nameserver 10.9.0.2\noptions timeout:1 attempts:1\n");
    run("mount", "--bind", resolver, "/etc/resolv.conf"); // so that looking up a name counts too
    await using server = await startModelsServer(() => ({
      "/v1/models": { data: [{ id: "m", context_length: 100_000 }] },
      "/v1/chat/completions": (response: ServerResponse) => {
        const choice = (delta: object, finish_reason: string | null) =>
          `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.end(`${choice({ content: "local" }, null)}${choice({}, "stop")}data: [DONE]\n\n`);
      },
    }));
    // The counter works: a connection and the lookup of a name are seen.
    for (const control of [connectElsewhere, lookUpName]) {
      const before = countPackets();
      await control(async () => {
        while (countPackets() === before) await delay(10);
      });
    }
    print("ready");
    for (const words of commands) {
      const args = words.map((word) => word.replace("{address}", `${server.url}/v1`));
      const before = countPackets();
      const ended = await runProgram([entry, ...args], folder, env);
      print({ ...ended, packets: countPackets() - before } satisfies NetworkReport);
    }
  },
});

function countPackets(): number {
  const [line = ""] = new RegExp(`${INTERFACE}:.*`).exec(readFileSync("/proc/self/net/dev", "utf8")) ?? [];
  return Number(line.trim().split(/\s+/)[10]);
}

async function connectElsewhere(untilSeen: () => Promise<void>): Promise<void> {
  const socket = connect({ host: "192.0.2.1", port: 443 }).on("error", () => undefined);
  await untilSeen();
  socket.destroy(); // ends its retries
}

async function lookUpName(untilSeen: () => Promise<void>): Promise<void> {
  const found = lookup("host.example").catch(() => undefined);
  await untilSeen();
  await found; // ends its retries
}

function runProgram(
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>>,
): Promise<Omit<NetworkReport, "packets">> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, args, { cwd, env }, (_, stdout, stderr) =>
      resolve({ exitCode: child.exitCode, stdout, stderr }),
    );
    child.stdin?.end();
  });
}
