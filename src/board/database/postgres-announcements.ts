import { randomUUID } from "node:crypto";
import type { Client } from "pg";
import { systemClock } from "../../lib/time/clock.ts";
import { openDeadline } from "../../lib/time/deadline.ts";
import type { WakeFlag } from "../../lib/time/wake-flag.ts";
import { NOTIFICATION_CHANNEL } from "./dialect.ts";
import { describePostgres } from "./postgres-board-database.ts";
import { postgresError } from "./postgres-error.ts";

export interface AnnouncementsOptions {
  readonly url: string;
  /** Called when there may be boards without a subscription: once for each unknown board, and after each reconnect. */
  onUnknownBoard(): void;
  /** Called once when the connection is lost; reconnecting is retried until it succeeds. */
  onLost(error: unknown): void;
}

const CONNECT_TIMEOUT_MS = 15_000;
const PROBE_TIMEOUT_MS = 15_000;
const CLOSE_MS = 2_000;
const FIRST_RETRY_MS = 250;
const LONGEST_RETRY_MS = 30_000;

/** One connection that receives the changes of all boards of a server until disposed; reconnects with growing delays. */
export class Announcements implements AsyncDisposable {
  readonly #options: AnnouncementsOptions;
  readonly #listeners = new Map<string, Set<WakeFlag>>();
  readonly #unknownSchemas = new Set<string>();
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;
  #isConnected = false;

  constructor(options: AnnouncementsOptions) {
    this.#options = options;
    this.#ended = this.#keepListening(this.#stop.signal);
  }

  subscribe(schema: string, listener: WakeFlag): Disposable {
    const listeners = this.#listeners.get(schema) ?? new Set();
    this.#listeners.set(schema, listeners.add(listener));
    this.#unknownSchemas.delete(schema);
    if (!this.#isConnected) listener.markBroken();
    return {
      [Symbol.dispose]: () => {
        listeners.delete(listener);
        if (listeners.size === 0) this.#listeners.delete(schema);
      },
    };
  }

  async #keepListening(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        await this.#listen(() => {
          failures = 0;
        }, signal);
      } catch (error) {
        if (signal.aborted) return;
        if (failures === 0) this.#options.onLost(postgresError(error, describePostgres(this.#options.url)));
      }
      this.#isConnected = false;
      for (const listener of this.#all()) listener.markBroken();
      const pause = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(10, failures));
      await systemClock.sleep(pause, signal).catch(() => undefined); // rejects only on abort
    }
  }

  /** Listens until the connection is lost or `signal` aborts, and rejects with the reason. */
  async #listen(onConnected: () => void, signal: AbortSignal): Promise<void> {
    const { default: pg } = await import("pg");
    const client = new pg.Client({
      connectionString: this.#options.url,
      application_name: "hermes announcements",
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
    });
    const closed = new AbortController();
    const lost = new Promise<never>((_, reject) => {
      client.on("error", reject);
      client.on("end", () => reject(new Error("Connection terminated")));
      signal.addEventListener("abort", () => reject(signal.reason), { once: true, signal: closed.signal });
    });
    lost.catch(() => undefined); // avoids an unhandled rejection while another promise is awaited
    try {
      await Promise.race([client.connect(), lost]);
      await Promise.race([this.#verifyDelivery(client, signal), lost]);
      onConnected();
      this.#isConnected = true;
      for (const listener of this.#all()) listener.markWorking();
      this.#options.onUnknownBoard();
      await lost;
    } finally {
      closed.abort();
      client.removeAllListeners("notification");
      // Do not wait longer for a server that does not answer.
      using deadline = openDeadline(new AbortController().signal, CLOSE_MS);
      const late = new Promise<void>((resolve) =>
        deadline.signal.addEventListener("abort", () => resolve(), { once: true }),
      );
      await Promise.race([client.end().catch(() => undefined), late]);
    }
  }

  /** Waits for its own test notification: a connection pooler may accept LISTEN but deliver nothing. */
  async #verifyDelivery(client: Client, signal: AbortSignal): Promise<void> {
    const probe = `probe ${randomUUID()}`;
    using deadline = openDeadline(signal, PROBE_TIMEOUT_MS);
    const heard = new Promise<void>((resolve, reject) => {
      deadline.signal.addEventListener("abort", () => reject(deadline.signal.reason), { once: true });
      client.on("notification", ({ payload = "" }) => {
        if (payload === probe) resolve();
        else this.#dispatch(payload);
      });
    });
    heard.catch(() => undefined);
    await client.query(`listen ${NOTIFICATION_CHANNEL}`);
    await client.query("select pg_notify($1, $2)", [NOTIFICATION_CHANNEL, probe]);
    await heard;
  }

  #dispatch(schema: string): void {
    const listeners = this.#listeners.get(schema);
    if (listeners !== undefined) for (const listener of listeners) listener.touch();
    else if (!schema.startsWith("probe ") && !this.#unknownSchemas.has(schema)) {
      this.#unknownSchemas.add(schema);
      this.#options.onUnknownBoard();
    }
  }

  #all(): readonly WakeFlag[] {
    return [...this.#listeners.values()].flatMap((listeners) => [...listeners]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("the announcements were closed"));
    await this.#ended;
  }
}
