import { randomUUID } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { type IncomingHttpHeaders, type IncomingMessage, request as startRequest } from "node:http";
import { join } from "node:path";
import { chooseAccess } from "../../src/api/access/access-mode.ts";
import { openAudit } from "../../src/api/access/audit.ts";
import { openSignInStore } from "../../src/api/access/sign-in-store.ts";
import { DASHBOARD_SCOPES, type DashboardScope } from "../../src/api/contract/scopes.ts";
import { type DashboardRequest, startDashboardServer } from "../../src/api/dashboard/dashboard-server.ts";
import { dashboardOptions } from "../../src/api/options.ts";
import { createRedactor } from "../../src/lib/redact/redactor.ts";
import { systemClock } from "../../src/lib/time/clock.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { tempFolder } from "./temp-folder.ts";

/** For tests whose requests read no data. */
const NO_DATA = {} as DashboardRequest["data"];

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly json: () => Record<string, unknown>;
}

export interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly body?: string;
}

export interface StreamEvent {
  readonly id: string | undefined;
  readonly name: string;
  readonly topic: string | null;
  readonly data: Record<string, unknown>;
}

/** A page that follows the stream of events. */
export interface Stream {
  readonly status: number;
  /** All events so far. */
  readonly events: readonly StreamEvent[];
  /** Resolves with the first matching event of the whole stream. Rejects if the stream ends first. */
  find(fits: (event: StreamEvent) => boolean): Promise<StreamEvent>;
  readonly ended: Promise<void>;
  /** Stops and resumes reading, like a page on a machine that sleeps. */
  freeze(): void;
  thaw(): void;
  /** Resets the connection. */
  cut(): void;
}

async function readStream(response: IncomingMessage): Promise<Stream> {
  const events: StreamEvent[] = [];
  const waiting = new Set<() => void>();
  let isOver = false;
  let rest = "";
  const wake = (): void => {
    for (const check of [...waiting]) check();
  };
  response.setEncoding("utf8");
  response.on("data", (piece: string) => {
    rest += piece;
    if (!piece.includes("\n")) return;
    const blocks = rest.split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const fields = new Map(block.split("\n").map((line) => line.split(/: (.*)/s) as [string, string]));
      const { topic, data } = JSON.parse(fields.get("data") ?? "{}") as Pick<StreamEvent, "topic" | "data">;
      events.push({ id: fields.get("id"), name: fields.get("event") ?? "", topic, data });
    }
    wake();
  });
  const ended = new Promise<void>((resolve) => {
    response.once("error", () => undefined);
    response.once("close", () => {
      isOver = true;
      wake();
      resolve();
    });
  });
  return {
    status: response.statusCode ?? 0,
    events,
    ended,
    find: (fits) =>
      new Promise((resolve, reject) => {
        let seen = 0;
        const check = (): void => {
          const found = events.slice(seen).find(fits);
          seen = events.length;
          if (found === undefined && !isOver) return;
          waiting.delete(check);
          if (found === undefined) reject(new Error(`the stream has ended after ${JSON.stringify(events)}`));
          else resolve(found);
        };
        waiting.add(check);
        check();
      }),
    freeze: () => response.pause(),
    thaw: () => response.resume(),
    cut: () => response.socket.resetAndDestroy(),
  };
}

/** The dashboard's server on a free port of loopback, with pages of one file and no data. */
export async function openDashboardLab(
  settings: object = {},
  parts: Partial<Pick<DashboardRequest, "data" | "sources" | "times" | "clock">> = {},
) {
  const folder = await tempFolder();
  const appFolder = folder.file("app");
  await mkdir(join(appFolder, "assets"), { recursive: true });
  await writeFile(
    join(appFolder, "index.html"),
    "<!doctype html><html><head><title>Hermes</title></head></html>",
  );
  await writeFile(join(appFolder, "assets", "app-1a2b.js"), "export {};");
  await writeFile(folder.file("secret.txt"), "outside");
  const clock = parts.clock ?? systemClock;
  const signIns = await openSignInStore(folder.file("dashboard.sqlite"), clock, neverAborted);
  const errors: unknown[] = [];
  const options = dashboardOptions.parse({ port: 0, ...settings });
  const audit = openAudit({
    folder: folder.file("logs"),
    redactor: createRedactor({ secrets: [] }),
    ...{ clock, maxSizeBytes: 1_000_000, backupCount: 2 },
  });
  const start = async (port: number) =>
    startDashboardServer({
      ...{ options: { ...options, port }, audit, access: await chooseAccess(options) },
      ...{ appFolder, signIns, clock, data: NO_DATA, sources: [], version: "1.2.3", profile: "default" },
      ...parts,
      onError: (error) => errors.push(error),
    });
  let server = await start(options.port);
  const { port } = server;

  /** Sends a request without normalising its path and headers. */
  const send = (path: string, { method, headers, json, body }: Sent = {}): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const content = json === undefined ? body : JSON.stringify(json);
      const verb = method ?? (content === undefined ? "GET" : "POST");
      const sending = startRequest(
        {
          ...{ host: "127.0.0.1", port, path, method: verb, agent: false },
          headers: {
            ...(verb !== "GET" && { "X-Hermes": "1" }),
            ...(json !== undefined && { "Content-Type": "application/json" }),
            ...headers,
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("error", reject);
          response.on("end", () => {
            const text = Buffer.concat(chunks).toString();
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              text,
              json: () => JSON.parse(text) as Record<string, unknown>,
            });
          });
        },
      );
      sending.on("error", reject);
      sending.end(content);
    });
  /** Signs a browser in; returns its `Cookie` header. */
  const signIn = async (scopes: readonly DashboardScope[] = DASHBOARD_SCOPES): Promise<string> => {
    const code = await signIns.createCode(scopes, neverAborted);
    const { headers } = await send("/api/enter", { json: { code } });
    return headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
  };
  /** Follows the stream of events as one page. */
  const follow = (cookie: string, query = ""): Promise<Stream> =>
    new Promise((resolve, reject) => {
      const path = `/api/events?${query.includes("stream=") ? "" : `stream=${randomUUID()}&`}${query}`;
      const sending = startRequest({
        ...{ host: "127.0.0.1", port, path, agent: false },
        headers: { Cookie: cookie, Host: `127.0.0.1:${port}` },
      });
      sending.on("error", reject);
      sending.on("response", (response) => resolve(readStream(response)));
      sending.end();
    });
  return {
    ...{ folder, signIns, port, errors, send, signIn, follow },
    url: server.url,
    readAudit: () => readFile(folder.file("logs/dashboard-audit.log"), "utf8"),
    /** Stops the server and starts another one on the same port. */
    async restart() {
      await server[Symbol.asyncDispose]();
      server = await start(port);
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      signIns[Symbol.dispose]();
      audit[Symbol.dispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}
