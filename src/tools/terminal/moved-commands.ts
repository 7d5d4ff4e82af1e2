import { randomBytes } from "node:crypto";
import type { CommandResult } from "../../environments/environment.ts";

/** A command that went on in the background when a new message ended its turn. It is ended when Hermes exits. */
export interface MovedCommand {
  readonly id: string;
  readonly command: string;
  /** Undefined while it runs. */
  result(): CommandResult | undefined;
  /** The end of what it has printed since it was moved, as bytes. */
  output(): Buffer;
  /** Resolves when it has ended. */
  readonly ended: Promise<unknown>;
  kill(): void;
}

/** The moved commands of a session, oldest first. */
export interface MovedCommands {
  /** Whether another command may be moved; otherwise it has to be ended. */
  readonly hasRoom: boolean;
  add(running: RunningCommand): MovedCommand & { take(bytes: Uint8Array): void };
  list(): readonly MovedCommand[];
}

interface RunningCommand {
  readonly command: string;
  readonly done: Promise<CommandResult>;
  kill(): void;
}

/** Each occupies a shell of the environment. */
const MAX_RUNNING = 4;
const MAX_LISTED = 32;
const KEPT_BYTES = 200_000;

export function createMovedCommands(): MovedCommands {
  let commands: MovedCommand[] = [];
  return {
    get hasRoom() {
      return commands.filter((one) => one.result() === undefined).length < MAX_RUNNING;
    },
    add({ command, done, kill }) {
      let kept: Buffer = Buffer.alloc(0);
      let result: CommandResult | undefined;
      const ended = done.then(
        (value) => {
          result = value;
        },
        () => undefined, // rejected only if it was never started
      );
      const moved = {
        id: `cmd_${randomBytes(4).toString("hex")}`,
        command,
        result: () => result,
        output: () => kept,
        ended,
        kill,
        take(bytes: Uint8Array): void {
          kept = Buffer.concat([kept, bytes]).subarray(-KEPT_BYTES);
        },
      };
      commands = [...commands, moved].slice(-MAX_LISTED);
      return moved;
    },
    list: () => commands,
  };
}
