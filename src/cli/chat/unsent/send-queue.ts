/** Messages on their way to the agent. A message leaves the queue when it is stored or was given back. */
export interface SendQueue {
  /** Sends a message after those before it. */
  send(text: string): void;
  /** The messages that are not stored yet, oldest first. */
  waiting(): readonly string[];
  /** Resolves when every message has had its turn. */
  idle(): Promise<void>;
}

export interface SendQueueParts {
  /** Runs a turn; calls `onStored` when the message is safe. */
  run(text: string, onStored: () => void): Promise<void>;
  /** Nothing was stored, for example because another process holds the session. */
  giveBack(text: string): void;
  onFailure(error: unknown): void;
}

export function createSendQueue({ run, giveBack, onFailure }: SendQueueParts): SendQueue {
  const waiting: string[] = [];
  let turns = Promise.resolve();

  async function sendNow(text: string): Promise<void> {
    let isStored = false;
    try {
      await run(text, () => {
        if (!isStored) waiting.shift();
        isStored = true;
      });
    } catch (error) {
      if (!isStored) {
        waiting.shift();
        giveBack(text);
      }
      onFailure(error);
    }
  }
  return {
    send(text) {
      waiting.push(text);
      // A turn releases its session only after its last event, so the next turn waits for that.
      turns = turns.then(() => sendNow(text));
    },
    waiting: () => waiting,
    idle: () => turns,
  };
}
