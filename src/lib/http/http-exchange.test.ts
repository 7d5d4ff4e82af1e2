import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as delay, setImmediate } from "node:timers/promises";
import { createBrotliCompress, createDeflate, createGzip, gzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { AppError } from "../errors.ts";
import { openHttpClient } from "./http-client.ts";
import type { HttpResponse } from "./http-exchange.ts";

async function openLab(listener: RequestListener) {
  const sockets: Socket[] = [];
  const server = createServer(listener).on("connection", (socket) => sockets.push(socket));
  server.keepAliveTimeout = 600_000; // an idle connection stays open, even on a slow machine
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const http = openHttpClient({ proxy: {} });
  onTestFinished(async () => {
    await http[Symbol.asyncDispose]();
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/path?query=1`;
  const never = new AbortController().signal;
  const post = (signal = never, headers: Record<string, string> = {}) =>
    http.exchange(url, { method: "POST", headers, body: "the body" }, signal);
  return { url, http, post, sockets };
}

async function readAll(answer: HttpResponse): Promise<string> {
  const chunks: Buffer[] = [];
  for (let chunk = await answer.read(); chunk !== undefined; chunk = await answer.read()) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

test("a request arrives complete, and its response has status, headers and body", async () => {
  const lab = await openLab(async (request, response) => {
    response.writeHead(418, { "x-kind": "teapot" });
    response.end(`${request.method} ${request.url} ${request.headers["x-mark"]} ${await text(request)}`);
  });
  const answer = await lab.post(undefined, { "x-mark": "7" });
  expect(answer.status).toBe(418);
  expect(answer.header("x-kind")).toBe("teapot");
  expect(answer.header("x-other")).toBeUndefined();
  expect(await readAll(answer)).toBe("POST /path?query=1 7 the body");
  expect(await answer.read()).toBeUndefined();
});

test("chunks can be read as they arrive, before the response has ended", async () => {
  let proceed: () => void = () => undefined;
  const lab = await openLab((_, response) => {
    response.write("first");
    proceed = () => response.end("second");
  });
  const answer = await lab.post();
  expect(String(await answer.read())).toBe("first");
  const next = answer.read();
  proceed();
  expect(String(await next)).toBe("second");
  await answer.ended;
});

test.each([
  ["gzip", () => createGzip()],
  ["br", () => createBrotliCompress()],
  ["deflate", () => createDeflate()],
])("chunks compressed with %s can be read as they arrive too", async (encoding, compress) => {
  let proceed: () => void = () => undefined;
  const lab = await openLab((_, response) => {
    response.writeHead(200, { "content-encoding": encoding });
    const compressor = compress();
    compressor.pipe(response);
    compressor.write("first");
    compressor.flush();
    proceed = () => compressor.end("second");
  });
  const answer = await lab.post();
  expect(String(await answer.read())).toBe("first");
  proceed();
  expect(await readAll(answer)).toBe("second");
  await answer.ended;
});

test("a small compressed response that is not read does not fill the memory", async () => {
  const megabyte = gzipSync(Buffer.alloc(1024 * 1024));
  const bomb = Buffer.concat(Array.from({ length: 60 }, () => megabyte));
  const lab = await openLab((_, response) => {
    response.writeHead(200, { "content-encoding": "gzip" });
    response.end(bomb);
  });
  const before = process.memoryUsage().external;
  const answer = await lab.post();
  expect(await answer.read()).toBeDefined();
  await delay(500); // time in which no more data may arrive
  expect(process.memoryUsage().external - before).toBeLessThan(20 * 1024 * 1024);
});

test("the next request uses the same connection, even if the last response was not read", async () => {
  const lab = await openLab((_, response) => response.end("short"));
  await (await lab.post()).ended;
  await setImmediate(); // the connection becomes idle shortly after its response
  await readAll(await lab.post());
  expect(lab.sockets).toHaveLength(1);
});

test("an unread response is paused at the buffer limit and arrives completely once it is read", async () => {
  const size = 32 * 1024 * 1024;
  let sent = 0;
  const lab = await openLab((_, response) => {
    const chunk = Buffer.alloc(64 * 1024, "x");
    const write = (): void => {
      while (sent < size) {
        sent += chunk.length;
        if (!response.write(chunk)) return void response.once("drain", write);
      }
      response.end();
    };
    write();
  });
  const answer = await lab.post();
  const [socket] = lab.sockets;
  // Paused: the server has more data but cannot send it.
  await expect
    .poll(async () => {
      const before = socket?.bytesWritten;
      await new Promise((resolve) => setTimeout(resolve, 100));
      return socket?.bytesWritten === before;
    })
    .toBe(true);
  expect(sent).toBeLessThan(size);
  expect(await readAll(answer)).toHaveLength(size);
});

test("an abort rejects immediately with the signal's reason: before the headers, and during a read", async () => {
  const reason = new Error("enough");
  const silent = await openLab(() => undefined);
  const early = new AbortController();
  const asking = silent.post(early.signal);
  await expect.poll(() => silent.sockets.length).toBe(1);
  early.abort(reason);
  await expect(asking).rejects.toBe(reason);
  await expect.poll(() => silent.sockets[0]?.destroyed).toBe(true);

  const slow = await openLab((_, response) => void response.write("some"));
  const late = new AbortController();
  const answer = await slow.post(late.signal);
  await answer.read();
  const reading = answer.read();
  late.abort(reason);
  await expect(reading).rejects.toBe(reason);
  await expect(answer.read()).rejects.toBe(reason);
  await answer.ended;
  await expect.poll(() => slow.sockets[0]?.destroyed).toBe(true);
});

test("a request whose signal has aborted is not sent", async () => {
  const lab = await openLab((_, response) => response.end());
  await expect(lab.post(AbortSignal.abort(new Error("no")))).rejects.toThrow("no");
  expect(lab.sockets).toHaveLength(0);
});

test("a connection that breaks in the middle rejects after the bytes that had arrived", async () => {
  const lab = await openLab((_, response) => {
    response.write("half", () => response.destroy());
  });
  const answer = await lab.post();
  expect(String(await answer.read())).toBe("half");
  await expect(answer.read()).rejects.toThrow();
});

test("an unreachable host and an invalid header are reported without quoting the header", async () => {
  const lab = await openLab((_, response) => response.end());
  const refused = lab.http.exchange(
    "http://127.0.0.1:1/",
    { method: "GET", headers: {}, body: "" },
    AbortSignal.timeout(300_000),
  );
  await expect(refused).rejects.toThrow(/Cannot reach 127.0.0.1:1: the connection was refused/);
  const broken = lab.post(undefined, { authorization: "Bearer secret\nsecret" });
  const error: unknown = await broken.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(AppError);
  expect(error).toMatchObject({ hint: expect.stringContaining("line breaks") });
  expect(String(error)).not.toContain("secret");
});
