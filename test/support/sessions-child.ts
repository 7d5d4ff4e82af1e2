import type { AgentEvent } from "../../src/agent/events.ts";
import { AppError } from "../../src/lib/errors.ts";
import { ownIdentity } from "../../src/lib/process-identity.ts";
import { openSessionStore } from "../../src/sessions/session-store.ts";
import { go, playRole, say } from "./child-role.ts";
import {
  assistant,
  call,
  NEW_SESSION,
  requestSent,
  toolEnd,
  turnEnd,
  turnStart,
  user,
} from "./session-fixtures.ts";

/** What other processes do to sessions in tests; started by `startChild`. */
const ROLES = {
  /** Adds turns to one session until it is killed, and tells of each; the first ends what an earlier one left open. */
  async "record-forever"({ path, id }: { path: string; id: string }) {
    using store = await openSessionStore(path, {}, never);
    const draft = { ...NEW_SESSION, id };
    await using turn = await store.acquireTurn(draft, await ownIdentity(never), never);
    const known = store.list.find(id) === undefined ? undefined : store.loadSession(id);
    const open = known?.openTurn;
    if (open !== undefined) {
      const interrupted = {
        turnId: open.turnId,
        outcome: "failed",
        reason: "crash",
        answer: undefined,
      } as const;
      const turnId = `${process.pid}-first`;
      await turn.record({ type: "turn-start", turnId, message: user("go on"), interrupted }, never);
      for (const { call } of open.pendingCalls)
        await turn.record(toolEnd(call.callId, "nobody saw", "unknown"), never);
      await turn.record(turnEnd(turnId), never);
    }
    say("recording");
    for (let number = 0; ; number++) {
      for (const event of turnOf(`${process.pid}-${number}`, known?.prefix ?? []))
        await turn.record(event, never);
      say(number);
    }
  },

  /** Adds so many turns to a session of its own. */
  async "record-turns"({ path, turns }: { path: string; turns: number }) {
    using store = await openSessionStore(path, { busyDeadlineMs: 300_000 }, never);
    const draft = store.createSession(NEW_SESSION);
    await go();
    await using turn = await store.acquireTurn(draft, await ownIdentity(never), never);
    for (let number = 0; number < turns; number++)
      for (const event of turnOf(`t${number}`, [])) await turn.record(event, never);
    say({ id: draft.id });
  },

  /** Holds the turn of a session until it is told to write. */
  async hold({ path, id }: { path: string; id: string }) {
    using store = await openSessionStore(path, {}, never);
    await using turn = await store.acquireTurn(id, await ownIdentity(never), never);
    await turn.record(turnStart("held", "by the child"), never);
    await go("held");
    say(await failureOf(turn.record(assistant("late"), never)));
  },
};

const never = new AbortController().signal;

/** A turn with two calls that end in the other order. */
function turnOf(name: string, prefix: readonly string[]): AgentEvent[] {
  const calls = [call(`${name}-1`), call(`${name}-2`)];
  return [
    turnStart(name, `question ${name}`),
    requestSent([...prefix, `${name}-a`]),
    assistant("working", calls),
    { type: "tools-start", calls },
    toolEnd(`${name}-2`, "second"),
    toolEnd(`${name}-1`, "first"),
    requestSent([...prefix, `${name}-a`, `${name}-b`]),
    assistant(`answer ${name}`),
    turnEnd(name),
  ];
}

async function failureOf(action: Promise<unknown>): Promise<string> {
  try {
    await action;
    return "none";
  } catch (error) {
    return error instanceof AppError ? error.code : String(error);
  }
}

await playRole(ROLES);
