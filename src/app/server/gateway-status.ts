import { existsSync } from "node:fs";
import { createPairing, type Pairing } from "../../gateway/access/pairing.ts";
import { type ChatStore, createChatStore } from "../../gateway/chats/chat-store.ts";
import { createTrustedHooks, type TrustedHooks } from "../../gateway/hooks/trusted-hooks.ts";
import { createInbox, type Inbox } from "../../gateway/inbox/inbox.ts";
import { createOutbox, type Outbox } from "../../gateway/outbox/outbox.ts";
import { GATEWAY_LEASE } from "../../gateway/runner/gateway-lease.ts";
import { createGatewayState, type GatewayState } from "../../gateway/runner/gateway-state.ts";
import { openGatewayDatabase } from "../../gateway/store/gateway-database.ts";
import { findWriteProblem } from "../../lib/files/find-write-problem.ts";
import type { ProcessIdentity } from "../../lib/process/process-identity.ts";
import { createLeases } from "../../lib/sqlite/lease.ts";
import { systemClock } from "../../lib/time/clock.ts";
import type { App } from "../app.ts";

/** The stored state of a gateway, for commands that read or change it. */
export interface GatewayRecords extends Disposable {
  readonly inbox: Inbox;
  readonly outbox: Outbox;
  readonly chats: ChatStore;
  readonly pairing: Pairing;
  readonly state: GatewayState;
  readonly hooks: TrustedHooks;
  /** The process of the running gateway. */
  findHolder(signal: AbortSignal): Promise<ProcessIdentity | undefined>;
  /** When the running gateway last renewed its lease. */
  lastSeen(): number | undefined;
  /** Why the gateway cannot store messages now, such as a full disk. */
  findWriteProblem(): Promise<string | undefined>;
}

/** Opens the records of the profile's gateway, running or not. */
export async function openGatewayRecords({ profile }: App, signal: AbortSignal): Promise<GatewayRecords> {
  const database = await openGatewayDatabase(profile.gatewayPath, systemClock, signal);
  const leases = createLeases(database);
  return {
    inbox: createInbox(database),
    outbox: createOutbox(database),
    chats: createChatStore(database),
    pairing: createPairing(database),
    state: createGatewayState(database),
    hooks: createTrustedHooks(database),
    findHolder: async (within) =>
      (await leases.findLiveOwner(GATEWAY_LEASE, within)) ?? (await leases.findHolder(GATEWAY_LEASE, within)),
    lastSeen: () => leases.findRenewal(GATEWAY_LEASE),
    findWriteProblem: () => findWriteProblem(profile.home),
    [Symbol.dispose]: () => database[Symbol.dispose](),
  };
}

/** The running gateway of this home if it dispatches the boards. */
export async function findHostingGateway(
  app: App,
  signal: AbortSignal,
): Promise<ProcessIdentity | undefined> {
  if (!existsSync(app.profile.gatewayPath)) return undefined; // opening the records would create the file
  using records = await openGatewayRecords(app, signal);
  return records.state.read().hostsDispatcher ? await records.findHolder(signal) : undefined;
}
