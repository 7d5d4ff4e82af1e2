/** A messaging service as the gateway uses it. Nothing is connected or loaded from the network before `connect`. */
export interface Platform {
  /**
   * Identifies the account on the service that people write to, such as `bot@irc.example.org`; the same in every process with
   * the same settings. Together with chat and message id it names a message for all time.
   */
  readonly account: string;
  readonly capabilities: Capabilities;
  /**
   * Connects and resolves once messages can be sent and received. Rejects with a `PlatformFailure`. Every message that arrives
   * afterwards, or that waited on the service since `sink.cursor`, is handed to `sink`.
   */
  connect(sink: InboundSink, signal: AbortSignal): Promise<Connection>;
}

/** A live connection. Disposing of it disconnects within a few seconds and sends nothing more. */
export interface Connection extends AsyncDisposable {
  /** Resolves with the reason when the connection has ended for any cause other than disposal. Never rejects. */
  readonly ended: Promise<PlatformFailure>;
  /**
   * Sends one part. Never rejects because of the service or the network, and not because of an abort: the result says what is
   * certain. Sends nothing a second time by itself.
   */
  send(part: OutboundPart, signal: AbortSignal): Promise<SendResult>;
  /**
   * Finds out whether an earlier `send` of this part, perhaps by a process that was killed, has reached the service. A service
   * that can never tell resolves with `unknown`; undefined means that it could not be asked now, as after the connection ended.
   */
  findSent(part: OutboundPart, signal: AbortSignal): Promise<SendResult | undefined>;
  /** Shows something that may get lost. Called only with actions that the capabilities declare. */
  act(action: ChatAction, signal: AbortSignal): Promise<ActResult>;
}

/** What a platform can do. The gateway never decides anything by the name of a platform. */
export interface Capabilities {
  /** The longest text of one part, counted in `textUnit`; the gateway splits longer texts. */
  readonly maxTextLength: number;
  readonly textUnit: "code-points" | "utf16" | "bytes";
  /** Which formatting of the model's markdown the platform's users see; `none` gets it as plain text. */
  readonly markdown: "none" | "rendered";
  /** Whether a part with `choices` is shown with buttons; elsewhere the text itself says how to answer. */
  readonly hasButtons: boolean;
  /** The largest file that a part may be; 0 where files cannot be sent. */
  readonly maxFileBytes: number;
  readonly actions: readonly ChatAction["type"][];
  /** Milliseconds without `sink.alive()` after which the gateway counts the connection as dead and opens a new one. */
  readonly silenceLimitMs: number;
  /** Whether strangers get a pairing code here. False where a reply to a stranger does harm, as in email. */
  readonly answersStrangers: boolean;
}

/** Receives the messages of a platform; implemented by the gateway. */
export interface InboundSink {
  /** The last cursor that any process passed to `store` for this account; undefined at the first start. */
  readonly cursor: string | undefined;
  /**
   * Stores messages and, in the same transaction, the cursor from which the platform continues after a restart. Acknowledge a
   * message to the service only after this has resolved. A message that is already stored is ignored. On a full disk it waits for
   * space. It rejects when nothing was stored: then do not acknowledge, and end the connection. Once `within` has aborted,
   * nothing is stored; pass it if the service waits only for a limited time.
   */
  store(messages: readonly InboundMessage[], cursor?: string, within?: AbortSignal): Promise<void>;
  /** Call it for each sign that the service reaches us: a message, an empty poll, the answer to a ping. */
  alive(): void;
}

export type ChatType = "dm" | "group" | "channel" | "thread";

/** Where a message is written to: a chat, or a thread in it. */
export interface ChatAddress {
  readonly chatId: string;
  readonly threadId?: string | undefined;
}

export interface Chat extends ChatAddress {
  readonly type: ChatType;
  readonly name?: string | undefined;
}

/** Who wrote a message. */
export interface Sender {
  readonly id: string;
  readonly name?: string | undefined;
  readonly isBot: boolean;
  /**
   * Whether the transport has proved the id: a platform's own login, a signature, aligned DKIM, or settings that ask for no
   * proof. Other senders are neither answered nor paired.
   */
  readonly isProven: boolean;
}

/** One message that arrived. Plain data, stored as it is. */
export interface InboundMessage {
  /** The platform's id, unique within the account and the chat; the same when the service delivers it again. */
  readonly id: string;
  readonly chat: Chat;
  readonly sender: Sender;
  readonly text: string;
  /** Milliseconds since 1970: the time that the service reports, or else the time of arrival. */
  readonly sentAt: number;
  /** Whether it is meant for us: a direct chat, a mention, a reply to one of our messages. */
  readonly isAddressed: boolean;
  readonly attachments?: readonly InboundAttachment[] | undefined;
  /** The message that it replies to. */
  readonly repliesTo?: { readonly id: string; readonly text?: string | undefined } | undefined;
  /** The button that was pressed: the `value` of the choice. */
  readonly choice?: string | undefined;
  /** `relay`: the text goes to `replyTo` as it is, without a turn. `context`: stored for later turns of the chat. */
  readonly handling?: "turn" | "relay" | "context" | undefined;
  /** Where the answer goes, if not to the chat: another platform by name, for a webhook that reports elsewhere. */
  readonly replyTo?: Target | undefined;
  /** Limits the tools of its turn. */
  readonly toolsets?: readonly string[] | undefined;
}

/** A chat on a platform that this gateway runs, by the platform's name. */
export interface Target extends ChatAddress {
  readonly platform: string;
}

/** A file of a message, or why it could not be fetched. */
export type InboundAttachment = { readonly name: string; readonly mediaType: string } & (
  | { readonly content: Uint8Array }
  | { readonly problem: string }
);

/** One message of ours. A long answer has several parts; each has its own row in the outbox. */
export interface OutboundPart {
  /**
   * Unique for all time and the same at each attempt; a platform uses it as nonce, transaction id or Message-ID where the
   * service knows such a thing. Up to 32 characters of a–z, 0–9 and `-`.
   */
  readonly id: string;
  readonly chat: ChatAddress;
  /** The message that it answers, if the answer should be shown as a reply. */
  readonly repliesTo?: string | undefined;
  readonly content:
    | { readonly type: "text"; readonly text: string; readonly choices?: readonly Choice[] | undefined }
    | {
        readonly type: "file";
        readonly path: string;
        readonly name: string;
        readonly mediaType: string;
        readonly caption?: string | undefined;
      };
  /** When its row was written; `findSent` need not search earlier messages. */
  readonly createdAt: number;
}

/** A button, and the text that it stands for. */
export interface Choice {
  readonly label: string;
  readonly value: string;
}

/** What is certain after an attempt to send. */
export type SendResult =
  | { readonly certainty: "sent"; readonly messageId: string | undefined }
  /** Nothing has reached the chat. `isFinal`: another attempt cannot succeed, for instance because the chat was deleted. */
  | {
      readonly certainty: "not-sent";
      readonly reason: string;
      readonly isFinal: boolean;
      /** How long the service accepts no requests for this chat. */
      readonly retryAfterMs?: number | undefined;
    }
  /** The request was sent, and its outcome is not known. */
  | { readonly certainty: "unknown"; readonly reason: string };

/** Something shown in a chat while a turn runs, which is not part of the answer. */
export type ChatAction =
  | { readonly type: "typing"; readonly chat: ChatAddress }
  /** Replaces the text of one of our messages. */
  | {
      readonly type: "edit";
      readonly chat: ChatAddress;
      readonly messageId: string;
      readonly text: string;
    };

export type ActResult =
  | { readonly ok: true }
  | {
      readonly ok: false;
      /** Another attempt cannot succeed, for instance because the message was deleted. */
      readonly isFinal?: boolean | undefined;
      readonly retryAfterMs?: number | undefined;
    };

export type PlatformFailureCode =
  /** Wrong or revoked credentials, an account in use elsewhere: waits for a person. */
  | "refused"
  /** The settings cannot work. */
  | "misconfigured"
  /** The service cannot be reached, or has closed the connection. */
  | "unreachable"
  /** Nothing was heard for `silenceLimitMs`. */
  | "silent"
  /** We could not store what arrived. */
  | "not-stored";

/** Why a connection could not be opened or has ended. The message contains no secret. */
export class PlatformFailure extends Error {
  override readonly name = "PlatformFailure";
  readonly code: PlatformFailureCode;
  /** How long the service wants us to wait before the next attempt. */
  readonly retryAfterMs: number | undefined;

  constructor(
    code: PlatformFailureCode,
    message: string,
    options: { retryAfterMs?: number; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryAfterMs = options.retryAfterMs;
  }

  /** Whether trying again without a change by a person can help. */
  get isRetryable(): boolean {
    return this.code !== "refused" && this.code !== "misconfigured";
  }
}
