import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import { openLive } from "../src/api/live/live.ts";
import type { LiveSink } from "../src/api/live/live-source.ts";
import type { Bench, Measurement } from "./bench.ts";

const STREAMS = 20;
const EVENTS = 2_000;
const MEGABYTE = 1024 * 1024;

/** What open event streams cost the server of the dashboard. */
export const dashboardServerBench: Bench = {
  name: "dashboard-server",
  async run() {
    let sink: LiveSink | undefined;
    let serialised = 0;
    const live = openLive({
      sources: [
        {
          kind: "board",
          async open(_name, opened) {
            sink = opened;
            return { [Symbol.asyncDispose]: async () => undefined };
          },
        },
      ],
      version: "0",
      isSignedIn: () => true,
      onError: (error) => {
        throw error;
      },
    });
    const server = createServer(
      getRequestListener(({ url, signal }, bindings) => {
        const { outgoing } = bindings as HttpBindings;
        const stream = new URL(url).pathname.slice(1);
        const cut = (): void => void outgoing.destroy();
        const request = { signInId: "bench", stream, topics: ["board:main"], after: undefined, cut };
        return live.follow(request, signal);
      }),
    );
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    const port = typeof address === "object" ? address?.port : 0;
    const until = async (isTrue: () => boolean): Promise<void> => {
      while (!isTrue()) await new Promise((resolve) => setImmediate(resolve));
    };
    /** The memory after a number of pages have received all events. */
    const measure = async (count: number): Promise<number> => {
      const pages = Array.from({ length: count }, (_, index) =>
        spawn("curl", ["-sN", "-o", "/dev/null", `http://127.0.0.1:${port}/page-${index}`]),
      );
      try {
        await until(() => live.counts().streams === count);
        for (let sent = 0; sent < EVENTS; sent += 1) {
          const data = {
            get at() {
              serialised += 1;
              return "x".repeat(500);
            },
          };
          sink?.publish("beat", data);
          if (sent % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
        }
        return process.memoryUsage().rss;
      } finally {
        for (const page of pages) page.kill("SIGKILL");
        await until(() => live.counts().streams === 0);
      }
    };
    try {
      const one = await measure(1);
      serialised = 0;
      const used = (await measure(STREAMS)) - one;
      return [
        compare(`serialisations of ${EVENTS} events for ${STREAMS} pages`, serialised, EVENTS, ""),
        compare(`memory for ${STREAMS} pages more than for one`, Math.max(0, used) / MEGABYTE, 20, " MB"),
      ];
    } finally {
      await live[Symbol.asyncDispose]();
      server.closeAllConnections();
      server.close();
    }
  },
};

function compare(name: string, value: number, most: number, unit: string): Measurement {
  return {
    name,
    ours: `${Number(value.toFixed(1))}${unit}`,
    peer: `${most}${unit}`,
    ratio: value / most,
    budget: { max: 1 },
  };
}
