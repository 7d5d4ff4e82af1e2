import { mkdir, writeFile } from "node:fs/promises";
import { type IncomingHttpHeaders, request as startRequest } from "node:http";
import { join } from "node:path";
import { openLoginStore } from "../../src/api/access/login-store.ts";
import { DASHBOARD_SCOPES, type DashboardScope } from "../../src/api/contract/common.ts";
import { type DashboardRequest, startDashboardServer } from "../../src/api/dashboard/dashboard-server.ts";
import { dashboardOptions } from "../../src/api/options.ts";
import { systemClock } from "../../src/lib/time/clock.ts";
import { tempFolder } from "./temp-folder.ts";

const never = new AbortController().signal;
/** For tests of requests that reach no data. */
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
  const logins = await openLoginStore(folder.file("dashboard.sqlite"), clock, never);
  const errors: unknown[] = [];
  const server = await startDashboardServer({
    ...{ appFolder, logins, clock, data: NO_DATA, sources: [], version: "1.2.3", profile: "default" },
    ...parts,
    options: dashboardOptions.parse({ port: 0, ...settings }),
    onError: (error) => errors.push(error),
  });
  const { port } = server;

  /** Sends a request as it is; names and paths are not normalised. */
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
    const code = await logins.createCode(scopes, never);
    const { headers } = await send("/api/enter", { json: { code } });
    return headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
  };
  return {
    ...{ folder, logins, server, port, errors, send, signIn },
    url: server.url,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      logins[Symbol.dispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}
