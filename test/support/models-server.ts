import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface ModelsServer extends AsyncDisposable {
  /** Without a path. */
  readonly url: string;
  /** `METHOD path` of each request, in order. */
  readonly asked: readonly string[];
  readonly headers: readonly IncomingMessage["headers"][];
}

/** The answer of each path: JSON, or a handler that misbehaves. All other paths answer with 404. */
export type Answers = Readonly<Record<string, unknown | ((response: ServerResponse, body: string) => void)>>;

/** A server on loopback that lists models and records what it is asked. */
export async function startModelsServer(answers: () => Answers): Promise<ModelsServer> {
  const asked: string[] = [];
  const headers: IncomingMessage["headers"][] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      asked.push(`${request.method} ${request.url}`);
      headers.push(request.headers);
      const answer = answers()[request.url ?? ""];
      if (typeof answer === "function") answer(response, Buffer.concat(chunks).toString("utf8"));
      else if (answer === undefined) response.writeHead(404).end("not here");
      else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    headers,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
