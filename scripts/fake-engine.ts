import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { basename, dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { sandboxLabels } from "../src/environments/docker/spec/labels.ts";

/**
 * A server that answers like a Docker engine with a running sandbox of a home, but starts shells on this machine. That is enough for
 * one command, so that the build can compile the code of such a command without an engine.
 */
export function createFakeEngine(home: string): Server {
  let program: readonly string[] = [];
  const server = createServer(async (request, response) => {
    const path = request.url ?? "";
    const body = await text(request);
    if (path.endsWith("/exec")) program = JSON.parse(body).Cmd;
    const isShell = path.startsWith("/exec/") || path.endsWith("/exec");
    const answer = isShell ? { Id: "shell", ExitCode: 0 } : describeSandbox(home, basename(dirname(path)));
    response.setHeader("Server", "Docker/0 (fake)").end(JSON.stringify(answer));
  });
  server.on("upgrade", (_, socket) => {
    socket.write("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
    const [file = "", ...args] = program;
    const shell = spawn(file, args);
    for (const [number, stream] of [shell.stdout, shell.stderr].entries()) {
      stream.on("data", (piece: Buffer) => {
        const header = Buffer.from([number + 1, 0, 0, 0, 0, 0, 0, 0]);
        header.writeUInt32BE(piece.length, 4);
        socket.write(Buffer.concat([header, piece]));
      });
    }
    shell.once("close", () => socket.end());
    socket.pipe(shell.stdin);
  });
  return server;
}

function describeSandbox(home: string, name: string): object {
  const profileId = readFileSync(join(home, "profile-id"), "utf8").trim();
  const sandbox = { profile: "default", profileId, task: "default", fingerprint: "", fields: "{}" };
  return {
    Id: "0".repeat(64),
    Name: `/${name}`,
    Created: "2026-01-01T00:00:00Z",
    State: { Status: "running" },
    Config: { Image: "fake", Labels: sandboxLabels(sandbox, "1"), Env: [] },
    HostConfig: {},
    Mounts: [],
  };
}
