import { randomBytes } from "node:crypto";
import type { Clock } from "../../../lib/time/clock.ts";
import type { OidcSecrets } from "./oidc-provider.ts";

/** A sign-in that a browser has started and the provider has not answered yet. */
export interface OidcFlow {
  readonly secrets: OidcSecrets;
  /** The page that is opened after the sign-in. */
  readonly next: string;
}

export interface OidcFlows {
  /** Returns the id that the browser keeps. */
  add(flow: OidcFlow): string;
  /** Returns the flow once; undefined if it is unknown, used or late. */
  take(id: string): OidcFlow | undefined;
}

const FLOW_MS = 10 * 60_000;
const MAX_FLOWS = 500;

/** Keeps flows in memory: after a restart of the server, one starts again. */
export function createOidcFlows(clock: Pick<Clock, "now">): OidcFlows {
  const flows = new Map<string, OidcFlow & { readonly until: number }>();
  return {
    add(flow) {
      const id = randomBytes(32).toString("base64url");
      flows.set(id, { ...flow, until: clock.now() + FLOW_MS });
      for (const oldest of flows.keys()) {
        if (flows.size <= MAX_FLOWS) break;
        flows.delete(oldest);
      }
      return id;
    },
    take(id) {
      const found = flows.get(id);
      flows.delete(id);
      return found !== undefined && found.until > clock.now() ? found : undefined;
    },
  };
}
