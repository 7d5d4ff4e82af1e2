import { totalmem } from "node:os";
import { type App, boardsPlace } from "../../../../app.ts";
import { type DispatchBoard, openDispatchBoard } from "../../../../board/dispatcher/dispatch-board.ts";
import type { DispatchHost } from "../../../../board/dispatcher/host.ts";
import {
  type DispatchPolicy,
  resolveDispatchPolicy,
} from "../../../../board/dispatcher/resolve-dispatch-policy.ts";
import type { TickParts } from "../../../../board/dispatcher/tick-parts.ts";
import { systemClock } from "../../../../lib/clock.ts";
import {
  livenessOf,
  ownIdentity,
  parseIdentity,
  serialiseIdentity,
} from "../../../../lib/process-identity.ts";
import type { OpenDesk } from "../desk.ts";
import { createAppHost } from "../work/app-host.ts";

/** The rules of this home, for every way of dispatching. */
export function policyOf({ resolved }: App): DispatchPolicy {
  return resolveDispatchPolicy(resolved.config.kanban, {
    platform: process.platform,
    totalMemoryBytes: totalmem(),
  });
}

/** Who dispatches: this process, and how it learns that another one is dead. */
export async function ownDispatcher(
  signal: AbortSignal,
): Promise<Pick<TickParts, "owner" | "isDead" | "clock" | "random">> {
  return {
    owner: serialiseIdentity(await ownIdentity(signal)),
    async isDead(owner, within) {
      const identity = parseIdentity(owner);
      return identity !== undefined && (await livenessOf(identity, within)) === "dead";
    },
    clock: systemClock,
    random: Math.random,
  };
}

export interface OpenDispatch extends AsyncDisposable {
  readonly board: DispatchBoard;
  readonly host: DispatchHost;
  readonly policy: DispatchPolicy;
}

/** The board of a desk as dispatchers see it. */
export async function openDispatch({
  app,
  store,
  context,
  signal,
}: Pick<OpenDesk, "app" | "store" | "context" | "signal">): Promise<OpenDispatch> {
  const place = { ...boardsPlace(app), slug: store.slug };
  const host = await createAppHost(app, store, context);
  const board = await openDispatchBoard(place, {}, signal);
  return {
    board,
    host,
    policy: policyOf(app),
    async [Symbol.asyncDispose]() {
      host[Symbol.dispose]();
      await board[Symbol.asyncDispose]();
    },
  };
}
