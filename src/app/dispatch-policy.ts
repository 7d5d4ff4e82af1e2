import { totalmem } from "node:os";
import {
  type DispatchPolicy,
  resolveDispatchPolicy,
} from "../board/dispatcher/rules/resolve-dispatch-policy.ts";
import type { App } from "./app.ts";

/** The dispatch policy from the settings of this home. */
export function policyOf({ resolved }: App): DispatchPolicy {
  return resolveDispatchPolicy(resolved.config.kanban, {
    platform: process.platform,
    totalMemoryBytes: totalmem(),
  });
}
