/** Messages on their way to the agent. A message leaves the queue when it is stored or was given back. */
export interface SendQueue {
  /** Adds a message, which is sent after those before it. */
  send(text: string): void;
  /** The messages that are not stored yet, oldest first. */
  waiting(): readonly string[];
  /** Resolves when the turns of all messages have ended. */
  waitUntilIdle(): Promise<void>;
}

export interface SendQueueParts {
  /** Runs a turn; calls `onStored` once the message is stored. */
  run(text: string, onStored: () => void): Promise<void>;
  /** Called with a message that was not stored, for example because another process holds the session. */
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
    waitUntilIdle: () => turns,
  };
}
