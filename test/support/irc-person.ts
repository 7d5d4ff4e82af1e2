import { connect } from "node:net";
import { createInterface } from "node:readline";
import { expect } from "vitest";

/** A person at an IRC server, with a client that shares no code with ours. */
export interface IrcPerson extends AsyncDisposable {
  readonly nick: string;
  say(target: string, text: string): void;
  raw(line: string): void;
  /** What was written to this person or in its channels, as `sender: text`, once there are at least `count` lines. */
  heard(count: number): Promise<readonly string[]>;
  /** Resolves once the server has handled everything that was written. */
  settled(): Promise<void>;
}

export async function joinIrc(
  { host, port }: { readonly host: string; readonly port: number },
  nick: string,
  channels: readonly string[] = [],
): Promise<IrcPerson> {
  const socket = connect(port, host);
  const lines: string[] = [];
  const reader = createInterface({ input: socket });
  reader.on("error", () => undefined);
  reader.on("line", (line) => {
    lines.push(line);
    if (line.startsWith("PING ")) socket.write(`PONG ${line.slice(5)}\r\n`);
  });
  const raw = (line: string): void => void socket.write(`${line}\r\n`);
  const wait = (pattern: RegExp): Promise<void> => expect.poll(() => lines.join("\n")).toMatch(pattern);
  let pings = 0;
  raw(`NICK ${nick}`);
  raw(`USER ${nick} 0 * :${nick}`);
  await wait(/ 001 /);
  for (const channel of channels) {
    raw(`JOIN ${channel}`);
    await wait(new RegExp(` 366 \\S+ ${channel} `));
  }
  return {
    nick,
    raw,
    say: (target, text) => raw(`PRIVMSG ${target} :${text}`),
    async heard(count) {
      const read = (): string[] =>
        lines.flatMap((line) => {
          const groups = /^:(?<from>[^! ]+)\S* PRIVMSG \S+ :(?<text>.*)$/.exec(line)?.groups;
          return groups === undefined ? [] : [`${groups["from"]}: ${groups["text"]}`];
        });
      await expect.poll(() => read().length).toBeGreaterThanOrEqual(count);
      return read();
    },
    async settled() {
      const before = lines.filter((line) => / PONG /.test(line)).length;
      raw(`PING :settled-${++pings}`);
      await expect.poll(() => lines.filter((line) => / PONG /.test(line)).length).toBeGreaterThan(before);
    },
    async [Symbol.asyncDispose]() {
      socket.destroy();
    },
  };
}

/** A nickname that no other test uses. */
export function uniqueNick(word: string): string {
  return `${word}${process.pid.toString(36)}${Math.random().toString(36).slice(2, 8)}`;
}
