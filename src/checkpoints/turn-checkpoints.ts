import { AppError, messageOf } from "../lib/errors.ts";
import { shorten } from "../lib/text/shorten.ts";
import type { Tool } from "../tools/tool.ts";
import type { Checkpoints } from "./checkpoint-store.ts";

/** Saves the files of the project before the first change of each turn of one session. */
export interface TurnCheckpoints {
  /** The tool, with its changes preceded by a checkpoint. */
  guard(tool: Tool): Tool;
  /** Saves the files as the turn left them, so that later changes by the user can be distinguished. */
  endTurn(): Promise<void>;
}

/** After a stop the files are still saved, but not for longer than this. */
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
      const { number, omitted } = await checkpoints.take({ folder, sessionId, reason, paths: [] }, signal);
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
        .complete(folder, number, [], AbortSignal.timeout(END_TIMEOUT_MS))
        .catch((error: unknown) => onNotice(`The end of this turn was not saved: ${messageOf(error)}`));
    },
  };
}
