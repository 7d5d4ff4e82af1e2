import type { EnvironmentRegistry } from "../../environments/environment-registry.ts";
import type { EnvironmentFacts } from "../../environments/environment-request.ts";
import { messageOf } from "../../lib/errors.ts";
import { ensureProfileId } from "../../profiles/profile-id.ts";
import type { App } from "../app.ts";

const CLEAN_UP_TIMEOUT_MS = 10_000;

/** The facts for an environment. Of the profile, they contain only the terminal settings and the identity. */
export function createEnvironmentFacts(
  { profile, resolved, variables, userHome }: App,
  invocation: Pick<EnvironmentFacts, "cwd" | "reporter">,
): EnvironmentFacts {
  return {
    ...invocation,
    variables,
    userHome,
    options: resolved.config.terminal,
    profile,
    profileId: () => ensureProfileId(profile),
    variable: (name) => resolved.variable(name),
  };
}

/** Opens the environments that the conversations of this process share. Dispose after the last conversation. */
export async function openAppEnvironments(
  report: (text: string) => void,
  signal: AbortSignal,
): Promise<EnvironmentRegistry> {
  const [{ createEnvironmentRegistry }, { openEnvironment, reclaimAbandonedSandboxes }, { openDeadline }] =
    await Promise.all([
      import("../../environments/environment-registry.ts"),
      import("../../environments/open-environment.ts"),
      import("../../lib/time/deadline.ts"),
    ]);
  return createEnvironmentRegistry({
    open: openEnvironment,
    async reclaimAbandoned(request) {
      using deadline = openDeadline(signal, CLEAN_UP_TIMEOUT_MS);
      await reclaimAbandonedSandboxes(request, deadline.signal).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
    },
    onError: (context, error) => report(`${context} ${messageOf(error)}`),
  });
}
