import type { AgentEvent } from "../../src/agent/events.ts";
import { AppError } from "../../src/lib/errors.ts";
import { readOwnIdentity } from "../../src/lib/process/process-identity.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { openSessionStore } from "../../src/sessions/session-store.ts";
import { playRole, print, waitForLine } from "./child-role.ts";
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

/** Roles of other processes that use sessions in tests; started by `startChild`. */
const ROLES = {
  /** Adds turns to one session until it is killed, and reports each; the first turn ends a turn that was left open. */
  async "record-forever"({ path, id }: { path: string; id: string }) {
    using store = await openSessionStore(path, {}, neverAborted);
    const draft = { ...NEW_SESSION, id };
    await using turn = await store.acquireTurn(draft, await readOwnIdentity(neverAborted), neverAborted);
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
      await turn.record({ type: "turn-start", turnId, message: user("go on"), interrupted }, neverAborted);
      for (const { call } of open.pendingCalls)
        await turn.record(toolEnd(call.callId, "not recorded", "unknown"), neverAborted);
      await turn.record(turnEnd(turnId), neverAborted);
    }
    print("recording");
    for (let number = 0; ; number++) {
      for (const event of turnOf(`${process.pid}-${number}`, known?.prefix ?? []))
        await turn.record(event, neverAborted);
      print(number);
    }
  },

  /** Adds `turns` turns to a new session. */
  async "record-turns"({ path, turns }: { path: string; turns: number }) {
    using store = await openSessionStore(path, { busyDeadlineMs: 300_000 }, neverAborted);
    const draft = store.createSession(NEW_SESSION);
    await waitForLine();
    await using turn = await store.acquireTurn(draft, await readOwnIdentity(neverAborted), neverAborted);
    for (let number = 0; number < turns; number++)
      for (const event of turnOf(`t${number}`, [])) await turn.record(event, neverAborted);
    print({ id: draft.id });
  },

  /** Branches a session, undoes its turns and restores them until it is killed, and reports each step. */
  async "change-history"({ path, id }: { path: string; id: string }) {
    using store = await openSessionStore(path, {}, neverAborted);
    const { branch, undo, redo } = store.history();
    const own = await readOwnIdentity(neverAborted);
    // The process before this one may have been killed between an undo and its redo.
    while ((await failureOf(redo(id, own, neverAborted))) === "none");
    for (let step = 0; ; step++) {
      print(step);
      await branch(id, { at: step % 2 === 0 ? undefined : 5 }, own, neverAborted);
      for (const count of [1, 2]) {
        await undo(id, count, own, neverAborted);
        await redo(id, own, neverAborted);
      }
    }
  },

  /** Holds the turn of a session until a line arrives on stdin, then writes. */
  async hold({ path, id }: { path: string; id: string }) {
    using store = await openSessionStore(path, {}, neverAborted);
    await using turn = await store.acquireTurn(id, await readOwnIdentity(neverAborted), neverAborted);
    await turn.record(turnStart("held", "by the child"), neverAborted);
    await waitForLine("held");
    print(await failureOf(turn.record(assistant("late"), neverAborted)));
  },
};

/** A turn with two calls that end in reverse order. */
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
