import { readFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempHome } from "../support/hermes.ts";

/** A server on loopback that treats each connection in the same way until the connection is closed. */
async function listen(onConnection: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    onConnection(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Answers each request with a stream that repeats the same line. */
const repeatLine = (line: string) => (socket: Socket) => {
  socket.once("data", () => {
    socket.write("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n");
    const timer = setInterval(() => socket.write(`${line}\n\n`), 20);
    socket.once("close", () => clearInterval(timer));
  });
};

const silent = (socket: Socket) => void socket.resume();
const piece = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;

test("--run-budget ends a turn with exit code 3, no matter what it waits for, and the turn is recorded", async () => {
  await using streaming = await listen(repeatLine(piece({ content: "on and on. " }).trim()));
  await using keepalive = await listen(repeatLine(": keepalive"));
  await using silentServer = await listen(silent);
  const command = JSON.stringify({ command: "sleep 300 & echo $! > pid; wait" });
  await using calling = await listen((socket) => {
    socket.once("data", () => {
      const call = { index: 0, id: "c1", function: { name: "terminal", arguments: command } };
      const events = piece({ content: "I wait.", tool_calls: [call] }) + piece({}, "tool_calls");
      socket.end(`HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n${events}data: [DONE]\n\n`);
    });
  });
  const rows = [
    { name: "a stream", url: `http://127.0.0.1:${streaming.port}`, said: /^((on and on\. )+\n)?$/ },
    { name: "comments only", url: `http://127.0.0.1:${keepalive.port}`, said: /^$/ },
    { name: "no answer", url: `http://127.0.0.1:${silentServer.port}`, said: /^$/ },
    { name: "no handshake", url: `https://127.0.0.1:${silentServer.port}`, said: /^$/ },
    {
      name: "no tunnel",
      url: "https://api.test",
      env: { HTTPS_PROXY: `http://127.0.0.1:${silentServer.port}` },
      said: /^$/,
    },
    { name: "a command", url: `http://127.0.0.1:${calling.port}`, said: /^I wait\.\n$/, runsCommand: true },
  ];
  for (const { name, url, env = {}, said, runsCommand = false } of rows) {
    await using home = await tempHome();
    const options = {
      cwd: home.folder,
      env: {
        HERMES_MODEL_PROVIDER: "custom",
        HERMES_MODEL_BASE_URL: `${url}/v1`,
        HERMES_MODEL_DEFAULT: "m",
        TERMINAL_ENV: "local",
        ...env,
      },
    };
    const run = await home.hermes(["-z", "go", "--run-budget", runsCommand ? "6" : "0.5"], options);
    expect(run.exitCode, `${name}: ${run.stderr}`).toBe(3);
    expect(run.stdout, name).toMatch(said);
    expect(run.stderr, name).toMatch(/The limit of \S+ seconds is reached\.\n {2}Raise --run-budget/);
    const shown = await home.hermes(["sessions", "show", "latest"], options);
    expect(shown.stdout, name).toMatch(/\[(No answer|Cut off): The limit of \S+ seconds is reached\.\]/);
    if (!runsCommand) continue;
    expect(shown.stdout).toContain("Stopped before it had finished"); // and not by the user
    const shell = await readFile(join(home.folder, "pid"), "utf8");
    // Its parent may not have reaped it yet.
    const state = await readFile(`/proc/${shell.trim()}/stat`, "utf8").catch(() => "gone");
    expect(state).toMatch(/^gone$|\) [ZX] /);
  }
});
