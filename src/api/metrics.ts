import { Counter, Gauge, Registry } from "prom-client";

export interface MetricSources {
  activeTurns(): number;
  activeRuns(): number;
  openConversations(): number;
}

/** The numbers of `/metrics`, in a registry of this server. */
export function createMetrics(sources: MetricSources) {
  const registry = new Registry();
  const registers = [registry];
  const requests = new Counter({
    name: "hermes_api_requests_total",
    help: "Requests by route of the table and status",
    labelNames: ["method", "route", "status"] as const,
    registers,
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
  gauge(
    "hermes_conversations_open",
    "Conversations that are open, with idle ones",
    sources.openConversations,
  );
  gauge("process_resident_memory_bytes", "Resident memory", () => process.memoryUsage.rss());
  gauge("process_uptime_seconds", "Seconds since the start", () => process.uptime());
  return {
    countRequest: (method: string, route: string, status: number) =>
      requests.inc({ method, route, status: String(status) }),
    contentType: registry.contentType,
    read: () => registry.metrics(),
  };
}

export type Metrics = ReturnType<typeof createMetrics>;
