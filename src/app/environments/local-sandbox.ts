import type { AppError } from "../../lib/errors.ts";
import type { App } from "../app.ts";

export interface LocalSandboxReport {
  readonly mode: "workspace" | "strict";
  readonly has_network: boolean;
  /** Folders of the machine that commands may change. */
  readonly writable: readonly string[];
  /** Paths in these folders that are read-only. */
  readonly protected: readonly string[];
  readonly hidden: readonly string[];
  /** Why commands are refused on this machine; null if the sandbox can be created. */
  readonly problem: Pick<AppError, "message" | "hint"> | null;
}

/** Reports what the local sandbox would allow in a folder, and whether this machine can create it. `mode` overrides the setting. */
export async function inspectLocalSandbox(
  { profile, resolved, variables }: App,
  { cwd, mode }: { readonly cwd: string; readonly mode: LocalSandboxReport["mode"] },
  signal: AbortSignal,
): Promise<LocalSandboxReport> {
  const { inspectSandbox } = await import("../../environments/local/sandbox/local-sandbox.ts");
  const defined = Object.entries(variables).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  const { plan, problem } = await inspectSandbox(
    {
      options: { ...resolved.config.terminal, local_sandbox: mode },
      variables: Object.fromEntries(defined),
      hermesHomes: [profile.root, profile.home],
      cwd,
    },
    signal,
  );
  const isInside = (path: string): boolean =>
    plan.writable.some((writable) => path.startsWith(`${writable}/`));
  const paths = plan.mounts.filter(({ kind }) => kind !== "write").map(({ path }) => path);
  return {
    mode: plan.mode,
    has_network: plan.hasNetwork,
    writable: plan.writable,
    protected: paths.filter(isInside),
    hidden: plan.hidden,
    problem: problem === undefined ? null : { message: problem.message, hint: problem.hint },
  };
}
