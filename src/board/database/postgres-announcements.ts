import { randomUUID } from "node:crypto";
import type { Client } from "pg";
import { systemClock } from "../../lib/clock.ts";
import { openDeadline } from "../../lib/deadline.ts";
import { CHANNEL } from "./dialect.ts";
import { describePostgres } from "./postgres-board-database.ts";
import { postgresError } from "./postgres-error.ts";

/** Who waits for announcements. */
export interface Listener {
  /** Something has happened, or may have while nothing was heard. */
  touch(): void;
  /** From now on nothing is heard, until `mend`. */
  breakDown(): void;
  mend(): void;
}

/** One connection over which the changes of all boards of a server are heard. */
export interface Announcements extends AsyncDisposable {
  subscribe(schema: string, listener: Listener): Disposable;
}

export interface AnnouncementsOptions {
  readonly url: string;
  /** Called when there may be boards that nobody has subscribed to: once for each, and when the server is back. */
  onNews(): void;
  /** Called when announcements are no longer heard; it is tried again until they are. */
  onLost(error: unknown): void;
}

const CONNECT_TIMEOUT_MS = 15_000;
const PROBE_TIMEOUT_MS = 15_000;
const CLOSE_MS = 2_000;
const FIRST_RETRY_MS = 250;
const LONGEST_RETRY_MS = 30_000;

/** Listens on the server until it is disposed of; a connection that is lost is made anew, after longer and longer. */
export function openPostgresAnnouncements(options: AnnouncementsOptions): Announcements {
  return new PostgresAnnouncements(options);
}

class PostgresAnnouncements implements Announcements {
  readonly #options: AnnouncementsOptions;
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #strangers = new Set<string>();
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;
  #isHearing = false;

  constructor(options: AnnouncementsOptions) {
    this.#options = options;
    this.#ended = this.#keepListening(this.#stop.signal);
  }

  subscribe(schema: string, listener: Listener): Disposable {
    const listeners = this.#listeners.get(schema) ?? new Set();
    this.#listeners.set(schema, listeners.add(listener));
    this.#strangers.delete(schema);
    if (!this.#isHearing) listener.breakDown();
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
      this.#isHearing = false;
      for (const listener of this.#all()) listener.breakDown();
      const pause = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(10, failures));
      await systemClock.sleep(pause, signal).catch(() => undefined); // only the signal ends it early
    }
  }

  /** Hears until the connection is lost, which it rejects with, or `signal` aborts. */
  async #listen(onHearing: () => void, signal: AbortSignal): Promise<void> {
    const { default: pg } = await import("pg");
    const client = new pg.Client({
      connectionString: this.#options.url,
      application_name: "hermes announcements",
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
    });
    const over = new AbortController();
    const lost = new Promise<never>((_, reject) => {
      client.on("error", reject);
      client.on("end", () => reject(new Error("Connection terminated")));
      signal.addEventListener("abort", () => reject(signal.reason), { once: true, signal: over.signal });
    });
    lost.catch(() => undefined); // it may be lost while something else is awaited, which then fails too
    try {
      await Promise.race([client.connect(), lost]);
      await Promise.race([this.#hearItself(client, signal), lost]);
      onHearing();
      this.#isHearing = true;
      for (const listener of this.#all()) listener.mend();
      this.#options.onNews();
      await lost;
    } finally {
      over.abort();
      client.removeAllListeners("notification");
      // Nobody waits longer for the goodbye of a server that does not answer.
      using deadline = openDeadline(new AbortController().signal, CLOSE_MS);
      const late = new Promise<void>((resolve) =>
        deadline.signal.addEventListener("abort", () => resolve(), { once: true }),
      );
      await Promise.race([client.end().catch(() => undefined), late]);
    }
  }

  /** A pooler in between takes LISTEN and delivers nothing: only who has heard itself hears. */
  async #hearItself(client: Client, signal: AbortSignal): Promise<void> {
    const probe = `probe ${randomUUID()}`;
    using deadline = openDeadline(signal, PROBE_TIMEOUT_MS);
    const heard = new Promise<void>((resolve, reject) => {
      deadline.signal.addEventListener("abort", () => reject(deadline.signal.reason), { once: true });
      client.on("notification", ({ payload = "" }) => {
        if (payload === probe) resolve();
        else this.#hear(payload);
      });
    });
    heard.catch(() => undefined);
    await client.query(`listen ${CHANNEL}`);
    await client.query("select pg_notify($1, $2)", [CHANNEL, probe]);
    await heard;
  }

  #hear(schema: string): void {
    const listeners = this.#listeners.get(schema);
    if (listeners !== undefined) for (const listener of listeners) listener.touch();
    else if (!schema.startsWith("probe ") && !this.#strangers.has(schema)) {
      this.#strangers.add(schema);
      this.#options.onNews();
    }
  }

  #all(): readonly Listener[] {
    return [...this.#listeners.values()].flatMap((listeners) => [...listeners]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("nobody listens any more"));
    await this.#ended;
  }
}
