import { all } from "../database/steps.ts";
import { dispatchTick } from "./dispatch-tick.ts";
import { type BlockCause, findBlockCause } from "./operations/find-block-cause.ts";
import type { TickParts } from "./tick-parts.ts";
import { type Why, whyNotRunning } from "./why.ts";

const AT_MOST = 200; // a person reads no more, and each is looked at
const PER_PROFILE = 10; // they all have the same reason

const HOPELESS: ReadonlySet<BlockCause> = new Set(["provider", "rate-limit-bound"]);

/** Tasks that do not go on before someone changes something outside of them, each with its one reason. */
export async function findHindered(parts: TickParts, signal: AbortSignal): Promise<readonly Why[]> {
  const report = await dispatchTick({ ...parts, dryRun: true, perProfile: PER_PROFILE }, signal);
  const blocked = await parts.board.read(function* () {
    const rows = yield* all<{ id: string }>(
      `select id from task where status = 'blocked' and block_sticky = 1 order by updated_at desc limit ${AT_MOST}`,
    );
    const hopeless: string[] = [];
    for (const { id } of rows) if (HOPELESS.has(yield* findBlockCause(id))) hopeless.push(id);
    return hopeless;
  }, signal);
  const reasons: Why[] = [];
  for (const id of [...report.skipped_nonspawnable.slice(0, AT_MOST), ...blocked])
    reasons.push(await whyNotRunning(parts, id, signal));
  return reasons;
}
