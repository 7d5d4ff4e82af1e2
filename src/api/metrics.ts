export interface MetricSources {
  activeTurns(): number;
  activeRuns(): number;
  openConversations(): number;
}

interface RequestCount {
  readonly labels: { readonly method: string; readonly route: string; readonly status: string };
  count: number;
}

export type Metrics = ReturnType<typeof createMetrics>;

/** The numbers of `/metrics`. Their library is loaded when they are first read, because most servers are never asked for them. */
export function createMetrics(sources: MetricSources) {
  const requests = new Map<string, RequestCount>();
  let registry: Promise<{ readonly contentType: string; metrics(): Promise<string> }> | undefined;
  return {
    countRequest(method: string, route: string, status: number): void {
      const key = `${method} ${route} ${status}`;
      const request = requests.get(key) ?? { labels: { method, route, status: String(status) }, count: 0 };
      request.count++;
      requests.set(key, request);
    },
    async read(): Promise<{ readonly contentType: string; readonly text: string }> {
      registry ??= createRegistry(sources, requests);
      const loaded = await registry;
      return { contentType: loaded.contentType, text: await loaded.metrics() };
    },
  };
}

async function createRegistry(sources: MetricSources, requests: ReadonlyMap<string, RequestCount>) {
  const { Counter, Gauge, Registry } = await import("prom-client");
  const registry = new Registry();
  const registers = [registry];
  new Counter({
    name: "hermes_api_requests_total",
    help: "Requests by route of the table and status",
    labelNames: ["method", "route", "status"] as const,
    registers,
    collect() {
      this.reset();
      for (const { labels, count } of requests.values()) this.inc(labels, count);
    },
  });
  const gauge = (name: string, help: string, read: () => number): void => {
    new Gauge({
      ...{ name, help, registers },
      collect() {
        this.set(read());
      },
    });
  };
  gauge("hermes_turns_active", "Turns of this process that have not ended", sources.activeTurns);
  gauge("hermes_api_runs_active", "Turns that clients of the API started", sources.activeRuns);
  gauge("hermes_conversations_open", "Open conversations, including idle ones", sources.openConversations);
  gauge("process_resident_memory_bytes", "Resident memory", () => process.memoryUsage.rss());
  gauge("process_uptime_seconds", "Seconds since the start", () => process.uptime());
  return { contentType: registry.contentType, metrics: () => registry.metrics() };
}
