import { randomUUID } from "node:crypto";
import OpenAI from "openai";
import type { Scope } from "../../src/api/keys/caller.ts";
import type { App } from "../../src/app/app.ts";
import { openApiKeys } from "../../src/app/server/api-keys.ts";
import { startAppApiServer } from "../../src/app/server/api-server.ts";
import { readOwnIdentity, serialiseIdentity } from "../../src/lib/process/process-identity.ts";
import { connectSqlite } from "../../src/lib/sqlite/connect-sqlite.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import type { ScriptInput } from "../../src/providers/scripted/script.ts";
import { openHostOf, openScriptedApp } from "./hosted-turns.ts";

export const MAIN_KEY = "hermes_test_0123456789abcdefghijklmnop";

type ScriptedApp = Awaited<ReturnType<typeof openScriptedApp>>;

/** The API of a home with a scripted model, on a free port of loopback. */
export async function openApiLab(script: ScriptInput, settings: object = {}) {
  const scripted = await openScriptedApp(script, {
    ...{ approvals: { mode: "off" } },
    ...settings,
    api_server: { port: 0, ...(settings as { api_server?: object }).api_server },
  });
  await scripted.setSecret("API_SERVER_KEY", MAIN_KEY);
  const server = await startServer({ ...scripted, app: await scripted.open() });
  return {
    ...scripted,
    ...server,
    forgetEnd: (id: string) => forgetEnd(scripted.home, id),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await scripted[Symbol.asyncDispose]();
    },
  };
}

/** A server for the home, as a process has it; ending it drains its turns. */
export async function startServer(scripted: ScriptedApp) {
  const host = await openHostOf(scripted);
  const errors: unknown[] = [];
  const server = await startAppApiServer(
    scripted.app,
    { host, onError: (error) => errors.push(error) },
    neverAborted,
  );
  const { url } = server;
  const send = (path: string, init: RequestInit & { key?: string | null; json?: unknown } = {}) => {
    const { key = MAIN_KEY, json, headers, ...rest } = init;
    return fetch(`${url}${path}`, {
      ...rest,
      ...(json !== undefined && { method: "POST", body: JSON.stringify(json) }),
      headers: {
        ...(key !== null && { Authorization: `Bearer ${key}` }),
        ...(json !== undefined && { "Content-Type": "application/json" }),
        ...headers,
      },
    });
  };
  return {
    host,
    url,
    errors,
    isKeyNew: server.isKeyNew,
    send,
    openai: (apiKey = MAIN_KEY) => new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 }),
    async [Symbol.asyncDispose]() {
      await host[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** Adds a named key with some scopes and returns it. */
export async function addKey({ app }: { readonly app: App }, ...scopes: Scope[]): Promise<string> {
  using keys = await openApiKeys(app, neverAborted);
  return await keys.add(`key-${randomUUID()}`, scopes, neverAborted);
}

export interface SentEvent {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly data: string;
}

/** Reads events of a stream until `until` is satisfied or it ends; then the connection is cut. */
export async function readEvents(
  response: Response,
  until: (event: SentEvent) => boolean = () => false,
): Promise<SentEvent[]> {
  const events: SentEvent[] = [];
  if (response.body === null) return events;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return events;
    rest += value;
    const blocks = rest.split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      if (block.startsWith(":")) continue;
      const field = (name: string) =>
        block
          .split("\n")
          .find((line) => line.startsWith(`${name}: `))
          ?.slice(name.length + 2);
      const event = { id: field("id"), event: field("event"), data: field("data") ?? "" };
      events.push(event);
      if (!until(event)) continue;
      await reader.cancel();
      return events;
    }
  }
}

export const dataOf = ({ data }: SentEvent) => JSON.parse(data) as Record<string, unknown>;

/** Makes a run look as if its process was killed right before the end of the run was stored. */
async function forgetEnd(home: string, id: string): Promise<void> {
  const database = await connectSqlite(`${home}/api.sqlite`, { readonly: false, busyTimeoutMs: 1_000 });
  const dead = { ...(await readOwnIdentity(neverAborted)), pid: 2 ** 22 + 1, startTime: "1" };
  database
    .prepare("update api_run set ended_at = null, result = null, holder = ? where id = ?")
    .run(serialiseIdentity(dead), id);
  database.close();
}
