import { Readable } from "node:stream";
import type { ConnectionOptions } from "node:tls";
import { ImapFlow } from "imapflow";
import SMTPConnection from "nodemailer/lib/smtp-connection";
import { messageOf } from "../../../lib/errors.ts";
import { loadCertificateAuthorities } from "../../../lib/http/certificate-authorities.ts";
import { listCaFiles } from "../../../lib/http/http-client.ts";
import { shorten } from "../../../lib/text/shorten.ts";
import { PlatformFailure, type SendResult } from "../../platform.ts";
import type { PlatformParts } from "../platform-parts.ts";
import type { EmailOptions } from "./options.ts";

/** Connections to the servers of a mailbox. Each is opened only when one of these functions is called. */
export interface MailServers {
  /** Logs in over IMAP. Rejects with a `PlatformFailure`. */
  openMailbox(signal: AbortSignal): Promise<Mailbox>;
  /** Logs in over SMTP and out again. Rejects with a `PlatformFailure`. */
  checkSubmission(signal: AbortSignal): Promise<void>;
  /** Hands one mail over. Never rejects. */
  submit(mail: { readonly to: string; readonly source: Buffer }, signal: AbortSignal): Promise<SendResult>;
}

/** A connection to the mailbox, closed by disposal. */
export interface Mailbox extends Disposable {
  readonly imap: ImapFlow;
  /** Resolves with the reason when the connection has ended; never rejects. */
  readonly closed: Promise<PlatformFailure>;
}

const CONNECT_WITHIN_MS = 20_000;
const SILENCE_WITHIN_MS = 60_000;
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i;

/** Rejects with a `PlatformFailure` if the settings cannot work. */
export async function prepareMailServers(
  options: EmailOptions,
  { variables }: PlatformParts,
): Promise<MailServers> {
  const { address, password, use_tls: isEncrypted } = options;
  for (const host of [options.imap_host, options.smtp_host])
    if (!isEncrypted && !LOOPBACK.test(host))
      throw new PlatformFailure(
        "misconfigured",
        `without use_tls the password would be sent to ${host} unprotected`,
      );
  const tls = await trust(listCaFiles(undefined, variables));

  function openSubmission(): SMTPConnection {
    const connection = new SMTPConnection({
      host: options.smtp_host,
      port: options.smtp_port,
      secure: isEncrypted && options.smtp_port === 465,
      requireTLS: isEncrypted,
      ignoreTLS: !isEncrypted,
      connectionTimeout: CONNECT_WITHIN_MS,
      greetingTimeout: CONNECT_WITHIN_MS,
      socketTimeout: SILENCE_WITHIN_MS,
      logger: false,
      tls,
    });
    connection.on("error", () => undefined); // the step that runs fails with it
    return connection;
  }

  /** Connects and logs in. */
  async function logIn(connection: SMTPConnection): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      connection.once("error", reject);
      connection.once("end", () => reject(new Error("the server closed the connection")));
      connection.connect((error) => (error ? reject(error) : resolve()));
    });
    await new Promise<void>((resolve, reject) => {
      connection.once("end", () => reject(new Error("the server closed the connection")));
      connection.login({ user: address, pass: password }, (error) => (error ? reject(error) : resolve()));
    });
  }

  return {
    async openMailbox(signal) {
      signal.throwIfAborted();
      const { imap_host: host, imap_port: port } = options;
      const isImplicit = isEncrypted && port === 993;
      const imap = new ImapFlow({
        host,
        port,
        secure: isImplicit,
        ...(!isImplicit && { doSTARTTLS: isEncrypted }),
        auth: { user: address, pass: password },
        disableAutoIdle: true,
        connectionTimeout: CONNECT_WITHIN_MS,
        greetingTimeout: CONNECT_WITHIN_MS,
        logger: false,
        tls,
      });
      let reason: string | undefined;
      imap.on("error", (error) => {
        reason ??= messageOf(error);
      });
      const closed = new Promise<PlatformFailure>((resolve) => {
        imap.on("close", () => {
          resolve(
            new PlatformFailure("unreachable", `${host}: ${reason ?? "the server closed the connection"}`),
          );
        });
      });
      const close = (): void => imap.close();
      signal.addEventListener("abort", close, { once: true });
      try {
        await imap.connect();
        signal.throwIfAborted();
        return { imap, closed, [Symbol.dispose]: close };
      } catch (error) {
        close();
        signal.throwIfAborted();
        throw loginFailure(error, host, hasField(error, "authenticationFailed"));
      } finally {
        signal.removeEventListener("abort", close);
      }
    },
    async checkSubmission(signal) {
      signal.throwIfAborted();
      const connection = openSubmission();
      const close = (): void => connection.close();
      signal.addEventListener("abort", close, { once: true });
      try {
        await logIn(connection);
      } catch (error) {
        signal.throwIfAborted();
        throw loginFailure(error, options.smtp_host, codeOf(error) === "EAUTH" && !isTemporary(error));
      } finally {
        signal.removeEventListener("abort", close);
        close();
      }
    },
    async submit({ to, source }, signal) {
      if (signal.aborted) return notSent("stopped");
      const connection = openSubmission();
      let isWritten = false;
      /** Read only after the server has accepted the recipient; from then on, the server may have the whole mail. */
      const body = Readable.from(
        (function* () {
          isWritten = true;
          yield source;
        })(),
        { objectMode: false },
      );
      const close = (): void => connection.close();
      signal.addEventListener("abort", close, { once: true });
      try {
        await logIn(connection);
        const { response } = await new Promise<{ response: string }>((resolve, reject) => {
          connection.once("end", () => reject(new Error("the server closed the connection")));
          connection.send({ from: address, to: [to] }, body, (error, info) =>
            error ? reject(error) : resolve({ response: info?.response ?? "" }),
          );
        });
        return { certainty: "sent", messageId: response };
      } catch (error) {
        const status = statusOf(error);
        const reason = describe(error);
        if (isWritten && status === undefined) return { certainty: "unknown", reason };
        const isRefused = status !== undefined && status >= 500 && codeOf(error) !== "EAUTH";
        return notSent(reason, isRefused || (codeOf(error) === "EENVELOPE" && status === undefined));
      } finally {
        signal.removeEventListener("abort", close);
        close();
      }
    },
  };
}

async function trust(caFiles: readonly string[]): Promise<ConnectionOptions> {
  if (caFiles.length === 0) return {};
  try {
    return { ca: await loadCertificateAuthorities(caFiles) };
  } catch (error) {
    throw new PlatformFailure("misconfigured", messageOf(error), { cause: error });
  }
}

/** Omits the cause, because the errors of both libraries contain what was written to the server. */
function loginFailure(error: unknown, host: string, isRefused: boolean): PlatformFailure {
  return isRefused
    ? new PlatformFailure("refused", `${host} refused the address or the password: ${describe(error)}`)
    : new PlatformFailure("unreachable", `${host}: ${describe(error)}`);
}

/** The reply of the server, or else the message of the error. */
function describe(error: unknown): string {
  const said = [fieldOf(error, "responseText"), fieldOf(error, "response")].find(
    (text) => typeof text === "string",
  );
  return shorten(String(said ?? messageOf(error)).replace(/\s+/g, " "), 300);
}

function notSent(reason: string, isFinal = false): SendResult {
  return { certainty: "not-sent", reason, isFinal };
}

const codeOf = (error: unknown): unknown => fieldOf(error, "code");

/** The status code with which an SMTP server refused a command. */
function statusOf(error: unknown): number | undefined {
  const status = fieldOf(error, "responseCode");
  return typeof status === "number" && status > 0 ? status : undefined;
}

function isTemporary(error: unknown): boolean {
  const status = statusOf(error);
  return status !== undefined && status < 500;
}

function hasField(error: unknown, name: string): boolean {
  return fieldOf(error, name) === true;
}

function fieldOf(error: unknown, name: string): unknown {
  return typeof error === "object" && error !== null ? (error as Record<string, unknown>)[name] : undefined;
}
