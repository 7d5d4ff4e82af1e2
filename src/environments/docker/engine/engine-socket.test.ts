import { once } from "node:events";
import { createServer, type IncomingMessage, request } from "node:http";
import { buffer, text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { openDockerLab } from "../../../../test/support/docker.ts";
import { describeWith } from "../../../../test/support/services.ts";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { neverAborted } from "../../../lib/time/never-aborted.ts";
import { createEngineSocket } from "./engine-socket.ts";

const LONG = { timeout: 600_000 };

describeWith("docker", "the socket of the engine", (service) => {
  const socket = createEngineSocket(service.socket);
  let lab: Awaited<ReturnType<typeof openDockerLab>>;
  let id = "";

  beforeAll(async () => {
    lab = await openDockerLab(service);
    const label = `hermes-profile-id=${lab.profileId}`;
    id = await lab.docker("run", "-d", "--label", label, service.images.busybox, "sleep", "1000");
  }, LONG.timeout);
  afterAll(() => lab[Symbol.asyncDispose]());

  it("inspects a container like the client", LONG, async () => {
    const [described] = JSON.parse(await lab.docker("container", "inspect", id)) as object[];
    expect(await socket.inspect("containers", id, neverAborted)).toEqual(described);
    expect(await socket.inspect("containers", "no-such-container", neverAborted)).toBeNull();
  });

  it("inspects an image like the client", LONG, async () => {
    const [described] = JSON.parse(await lab.docker("image", "inspect", service.images.busybox)) as object[];
    expect(await socket.inspect("images", service.images.busybox, neverAborted)).toEqual(described);
    expect(await socket.inspect("images", "library/no-such-image:1", neverAborted)).toBeNull();
  });

  it("lists the containers that match all filters", LONG, async () => {
    const label = `label=hermes-profile-id=${lab.profileId}`;
    expect(await socket.listContainerIds([label], neverAborted)).toEqual([id]);
    expect(await socket.listContainerIds([label, `id=${id}`], neverAborted)).toEqual([id]);
    expect(await socket.listContainerIds([label, "label=no-such-label"], neverAborted)).toEqual([]);
  });

  it(
    "separates both outputs of a shell, forwards all of its input, and returns its exit code",
    LONG,
    async () => {
      const shell = socket.startShell(id);
      const closed = once(shell as never, "close");
      const outputs = Promise.all([buffer(shell.stdout), buffer(shell.stderr)]);
      shell.stdin.write(
        "head -c 700000 /dev/zero | tr '\\0' o & head -c 500000 /dev/zero | tr '\\0' e >&2; wait\n",
      );
      shell.stdin.end("exit 7\n");
      const [stdout, stderr] = await outputs;
      expect(stdout.equals(Buffer.alloc(700_000, "o"))).toBe(true);
      expect(stderr.equals(Buffer.alloc(500_000, "e"))).toBe(true);
      expect(await closed).toEqual([7, null]);
    },
  );

  it("waits with one listener for a reader that is slower than many small outputs", LONG, async () => {
    const shell = socket.startShell(id);
    const isFull = () => shell.stdout.readableLength > 16_000;
    shell.stdin.end("i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); echo $i; done\n");
    await vi.waitUntil(isFull, { timeout: LONG.timeout });
    expect(shell.stdout.listenerCount("drain")).toBe(1);
    shell.stderr.resume();
    expect(await text(shell.stdout)).toMatch(/^1\n2\n.*19999\n20000\n$/s);
  });

  it("a shell exits when its input ends or when it is killed", LONG, async () => {
    const [idle, killed] = [socket.startShell(id), socket.startShell(id)];
    idle.stdout.resume();
    idle.stderr.resume();
    idle.stdin.end();
    await once(idle as never, "close");
    expect(idle.exitCode).toBe(0);
    killed.stdin.write("echo here\n");
    await once(killed.stdout, "data");
    killed.stderr.resume();
    killed.kill("SIGKILL");
    await once(killed as never, "close");
  });

  it("detects a command that is about to start, and pauses a container without one", LONG, async () => {
    expect(await socket.isStarting(id, neverAborted)).toBe(false);
    const creating = request({ socketPath: service.socket, method: "POST", path: `/containers/${id}/exec` });
    creating.setHeader("Content-Type", "application/json").end(JSON.stringify({ Cmd: ["sleep", "0.1"] }));
    const [answer] = (await once(creating, "response")) as [IncomingMessage];
    const { Id: exec } = JSON.parse(await text(answer)) as { Id: string };
    expect(await socket.isStarting(id, neverAborted)).toBe(true);
    const started = request({ socketPath: service.socket, method: "POST", path: `/exec/${exec}/start` });
    started.setHeader("Content-Type", "application/json").end(JSON.stringify({ Detach: true }));
    await once(started, "response");
    expect(await socket.isStarting(id, neverAborted)).toBe(false);
    expect(await socket.pause(id, neverAborted)).toBe(true);
    expect(await lab.inspect(id, "{{.State.Status}}")).toBe("paused");
    expect(await socket.pause(id, neverAborted)).toBe(false);
    await lab.docker("unpause", id);
  });

  it("a detached shell reads its input to the end and exits by itself", LONG, async () => {
    const shell = socket.startShell(id);
    shell.stdin.write("sleep 0.2; echo $$ > /tmp/detached; exec sleep 0.1\n");
    await shell.detach?.();
    await vi.waitUntil(() => lab.docker("exec", id, "cat", "/tmp/detached").catch(() => ""), LONG);
    await vi.waitUntil(async () => !(await lab.top(id)).includes("hermes-channel"), LONG);
  });

  it.each([
    ["no such container", "no-such-container", service.socket, "No such container"],
    ["no engine", "any", "/nowhere/docker.sock", "ENOENT"],
  ])("reports why no shell can be started: %s", LONG, async (_, container, path, complaint) => {
    const shell = createEngineSocket(path).startShell(container);
    shell.stdout.resume();
    shell.stdin.write("dropped\n");
    expect(await text(shell.stderr)).toContain(complaint);
    expect(shell.exitCode).toBe(1);
  });
});

it("returns no answer for engines other than Docker, so that their client is used", async () => {
  await using temp = await tempFolder();
  const path = temp.file("engine.sock");
  const server = createServer((_, answer) => {
    answer.setHeader("Server", "Libpod/4.3.1 (linux)").end(JSON.stringify({ Id: "x" }));
  }).listen(path);
  await once(server, "listening");
  const socket = createEngineSocket(path);
  expect(await socket.inspect("containers", "any", neverAborted)).toBeUndefined();
  expect(await socket.listContainerIds([], neverAborted)).toBeUndefined();
  server.close();
});
