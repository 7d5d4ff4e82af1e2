import { mkdir, writeFile } from "node:fs/promises";
import type { z } from "zod";
import type { DashboardScope } from "../../src/api/contract/scopes.ts";
import { type App, openApp } from "../../src/app/app.ts";
import { openDashboardData } from "../../src/app/server/dashboard-data.ts";
import { openDashboardLab } from "./dashboard-lab.ts";
import { silentLog } from "./silent-log.ts";
import { tempFolder } from "./temp-folder.ts";

export interface DashboardAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly text: string;
}

/** A home with the profiles default and coder, the dashboard's server for it, and a signed-in browser. */
export async function openDashboardHome(settings: object = {}, variables: Record<string, string> = {}) {
  const folder = await tempFolder();
  await mkdir(folder.file("profiles/coder"), { recursive: true });
  await writeFile(folder.file("config.yaml"), JSON.stringify(settings));
  const app: App = await openApp({
    profile: undefined,
    settings: new Map(),
    variables: { HERMES_HOME: folder.path, USER: "alice", PATH: process.env["PATH"], ...variables },
    userHome: folder.path,
  });
  const opened = await openDashboardData(
    app,
    { log: silentLog, cwd: folder.path },
    new AbortController().signal,
  );
  const lab = await openDashboardLab({}, { data: opened.data, sources: opened.sources });
  const cookie = await lab.signIn();

  const send = async (
    method: string,
    path: string,
    {
      json,
      body,
      headers = {},
      cookie: own = cookie,
    }: {
      readonly json?: unknown;
      readonly body?: string;
      readonly headers?: Readonly<Record<string, string>>;
      readonly cookie?: string;
    } = {},
  ): Promise<DashboardAnswer> => {
    const sent = { method, headers: { Cookie: own, ...headers } };
    const content = json === undefined ? (body === undefined ? {} : { body }) : { json };
    const { status, text, headers: got } = await lab.send(`/api/${path}`, { ...sent, ...content });
    const isJson = /json/.test(got["content-type"] ?? "");
    return { status, text, body: isJson && text !== "" ? JSON.parse(text) : undefined };
  };

  return {
    ...{ folder, app, lab, send },
    data: opened.data,
    /** Sends a request and parses its answer with the schema of the contract. */
    async ask<Schema extends z.ZodType>(
      schema: Schema,
      method: string,
      path: string,
      options: Parameters<typeof send>[2] = {},
    ): Promise<z.infer<Schema>> {
      const { status, body, text } = await send(method, path, options);
      if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
      return schema.parse(body);
    },
    signIn: (scopes: readonly DashboardScope[]) => lab.signIn(scopes),
    async [Symbol.asyncDispose]() {
      await lab[Symbol.asyncDispose]();
      await opened[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

export type DashboardHome = Awaited<ReturnType<typeof openDashboardHome>>;
