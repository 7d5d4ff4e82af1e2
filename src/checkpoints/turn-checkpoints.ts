import { AppError, messageOf } from "../lib/errors.ts";
import { shorten } from "../lib/text/shorten.ts";
import type { Tool } from "../tools/tool.ts";
import type { Checkpoints } from "./checkpoint-store.ts";

/** Saves the files of the project before the first change of each turn of one session. */
export interface TurnCheckpoints {
  /** Wraps a tool so that a checkpoint precedes its first change. */
  guard(tool: Tool): Tool;
  /** Saves the files at the end of the turn, so that later edits by the user can be distinguished from its changes. */
  endTurn(): Promise<void>;
}

/** The time limit for saving the files, which also happens after the turn was aborted. */
const END_TIMEOUT_MS = 60_000;
const MAX_REASON_CHARS = 120;

export function createTurnCheckpoints(
  checkpoints: Checkpoints,
  {
    folder,
    sessionId,
    redact,
    onNotice,
  }: {
    readonly folder: string;
    readonly sessionId: string;
    redact(text: string): string;
    onNotice(text: string): void;
  },
): TurnCheckpoints {
  let taken: Promise<number | undefined> | undefined;
  let hasFailed = false;

  async function take(reason: string, signal: AbortSignal): Promise<number | undefined> {
    try {
      const { number, omitted } = await checkpoints.take({ folder, sessionId, reason }, signal);
      if (omitted.length > 0 && number === 1)
        onNotice(`Checkpoints do not include large files, such as ${omitted.slice(0, 3).join(", ")}.`);
      return number;
    } catch (error) {
      if (signal.aborted) throw error;
      if (!hasFailed)
        onNotice(
          `This turn cannot be undone with \`hermes rollback\`: ${messageOf(error)}${error instanceof AppError && error.hint ? ` ${error.hint}` : ""}`,
        );
      hasFailed = true;
      return undefined;
    }
  }

  function describeCall(tool: Tool, input: string): string {
    const { commands, writes } = tool.effectsOf?.(input) ?? {};
    const argument = commands?.[0] ?? writes?.join(" ") ?? "";
    return shorten(redact(`${tool.name} ${argument}`.trim().replaceAll(/\s+/g, " ")), MAX_REASON_CHARS);
  }

  return {
    guard: (tool) =>
      tool.mutates
        ? {
            ...tool,
            async call(input, context) {
              if (tool.effectsOf?.(input).changesNothing !== true) {
                taken ??= take(describeCall(tool, input), context.signal);
                await taken;
              }
              return tool.call(input, context);
            },
          }
        : tool,
    async endTurn() {
      const number = await taken?.catch(() => undefined); // an aborted turn has changed nothing yet
      taken = undefined;
      if (number === undefined) return;
      await checkpoints
        .complete(folder, number, AbortSignal.timeout(END_TIMEOUT_MS))
        .catch((error: unknown) =>
          onNotice(`The files at the end of this turn could not be saved: ${messageOf(error)}`),
        );
    },
  };
}
