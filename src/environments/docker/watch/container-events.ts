import type { Engine } from "../engine/engine.ts";
import { LABEL } from "../spec/labels.ts";
import { type FollowedClient, followClient } from "./follow-client.ts";

/** Events that can change the list of sandboxes, in the words of Docker and Podman. Each of our own commands is an `exec`. */
const CHANGES: ReadonlySet<string> = new Set([
  ...["create", "start", "die", "died", "stop", "pause", "unpause", "rename", "destroy", "remove", "oom"],
]);

/** Calls `onChange` when a sandbox is created, changes its state or is removed, by any program. */
export function followContainerEvents(engine: Engine, onChange: () => void): FollowedClient {
  const args = ["events", "--filter", "type=container", "--filter", `label=${LABEL.agent}=1`];
  return followClient(engine, [...args, "--format", "{{.Status}}"], (line) => {
    if (CHANGES.has(line.trim())) onChange();
  });
}
