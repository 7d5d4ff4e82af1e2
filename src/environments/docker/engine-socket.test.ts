import { once } from "node:events";
import { createServer, type IncomingMessage, request } from "node:http";
import { buffer, text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { never, openDockerLab } from "../../../test/support/docker.ts";
import { describeWith } from "../../../test/support/services.ts";
import { tempFolder } from "../../../test/support/temp-folder.ts";
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

  it("describes a container as the client does", LONG, async () => {
    const [described] = JSON.parse(await lab.docker("container", "inspect", id)) as object[];
    expect(await socket.inspect("containers", id, never)).toEqual(described);
    expect(await socket.inspect("containers", "no-such-container", never)).toBeNull();
  });

  it("describes an image as the client does", LONG, async () => {
    const [described] = JSON.parse(await lab.docker("image", "inspect", service.images.busybox)) as object[];
    expect(await socket.inspect("images", service.images.busybox, never)).toEqual(described);
    expect(await socket.inspect("images", "library/no-such-image:1", never)).toBeNull();
  });

  it("lists the containers that pass all filters", LONG, async () => {
    const label = `label=hermes-profile-id=${lab.profileId}`;
    expect(await socket.listContainerIds([label], never)).toEqual([id]);
    expect(await socket.listContainerIds([label, `id=${id}`], never)).toEqual([id]);
    expect(await socket.listContainerIds([label, "label=no-such-label"], never)).toEqual([]);
  });

  it(
    "keeps both outputs of a shell apart and whole, hands its input on to the end, and tells how it ended",
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

  it("waits with one listener for a reader who is slower than many small outputs", LONG, async () => {
    const shell = socket.startShell(id);
    const isFull = () => shell.stdout.readableLength > 16_000;
    shell.stdin.end("i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); echo $i; done\n");
    await vi.waitUntil(isFull, { timeout: LONG.timeout });
    expect(shell.stdout.listenerCount("drain")).toBe(1);
    shell.stderr.resume();
    expect(await text(shell.stdout)).toMatch(/^1\n2\n.*19999\n20000\n$/s);
  });

  it("ends a shell whose input ends, and one that is killed", LONG, async () => {
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

  it("knows of a command that is about to start, and holds still what has none", LONG, async () => {
    expect(await socket.isStarting(id, never)).toBe(false);
    const asked = request({ socketPath: service.socket, method: "POST", path: `/containers/${id}/exec` });
    asked.setHeader("Content-Type", "application/json").end(JSON.stringify({ Cmd: ["sleep", "0.1"] }));
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    const { Id: exec } = JSON.parse(await text(answer)) as { Id: string };
    expect(await socket.isStarting(id, never)).toBe(true);
    const started = request({ socketPath: service.socket, method: "POST", path: `/exec/${exec}/start` });
    started.setHeader("Content-Type", "application/json").end(JSON.stringify({ Detach: true }));
    await once(started, "response");
    expect(await socket.isStarting(id, never)).toBe(false);
    expect(await socket.pause(id, never)).toBe(true);
    expect(await lab.inspect(id, "{{.State.Status}}")).toBe("paused");
    expect(await socket.pause(id, never)).toBe(false);
    await lab.docker("unpause", id);
  });

  it("lets a shell be left, which then reads its input to the end and ends by itself", LONG, async () => {
    const shell = socket.startShell(id);
    shell.stdin.write("sleep 0.2; echo $$ > /tmp/left; exec sleep 0.1\n");
    await shell.leave?.();
    await vi.waitUntil(() => lab.docker("exec", id, "cat", "/tmp/left").catch(() => ""), LONG);
    await vi.waitUntil(async () => !(await lab.docker("top", id)).includes("hermes-channel"), LONG);
  });

  it.each([
    ["no such container", "no-such-container", service.socket, "No such container"],
    ["no engine", "any", "/nowhere/docker.sock", "ENOENT"],
  ])("says what is wrong where no shell can be started: %s", LONG, async (_, container, path, complaint) => {
    const shell = createEngineSocket(path).startShell(container);
    shell.stdout.resume();
    shell.stdin.write("told nothing\n");
    expect(await text(shell.stderr)).toContain(complaint);
    expect(shell.exitCode).toBe(1);
  });
});

it("leaves every other engine than Docker's to its client", async () => {
  await using temp = await tempFolder();
  const path = temp.file("engine.sock");
  const server = createServer((_, answer) => {
    answer.setHeader("Server", "Libpod/4.3.1 (linux)").end(JSON.stringify({ Id: "x" }));
  }).listen(path);
  await once(server, "listening");
  const socket = createEngineSocket(path);
  expect(await socket.inspect("containers", "any", never)).toBeUndefined();
  expect(await socket.listContainerIds([], never)).toBeUndefined();
  server.close();
});
