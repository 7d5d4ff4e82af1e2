import { AppError } from "../lib/errors.ts";
import type { Reporter } from "./docker/engine.ts";
import type { Environment } from "./environment.ts";
import type { Backend, TerminalOptions } from "./options.ts";

/** Whose environment is wanted, and what it may know of this machine. Values only: nothing here is looked up later. */
export interface EnvironmentRequest {
  readonly options: TerminalOptions;
  readonly profile: { readonly name: string; readonly root: string; readonly home: string };
  /** Asked for only by environments that outlive us. */
  profileId(): Promise<string>;
  readonly task: string;
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** A variable of the environment, else of the profile's `.env`. */
  variable(name: string): string | undefined;
  readonly userHome: string;
  readonly cwd: string;
  readonly reporter: Reporter;
}

type Open = (request: EnvironmentRequest, signal: AbortSignal) => Promise<Environment>;

const OPEN: { readonly [Kind in Backend]: Open } = {
  local: async ({ options, variables, profile, cwd }) => {
    const { openLocalEnvironment } = await import("./local/local-environment.ts");
    return openLocalEnvironment({ options, variables, profileHome: profile.home, cwd });
  },
  docker: async (request, signal) => {
    const { openDockerEnvironment } = await import("./docker/docker-environment.ts");
    const { prepareDocker } = await import("./docker/prepare-docker.ts");
    return openDockerEnvironment({ ...(await prepareDocker(request, signal)), reporter: request.reporter });
  },
  podman: refuse,
  ssh: refuse,
  singularity: refuse,
};

/** Opens the environment that the settings name. There is no other one to fall back to. */
export function openEnvironment(request: EnvironmentRequest, signal: AbortSignal): Promise<Environment> {
  return OPEN[request.options.backend](request, signal);
}

async function refuse({ options }: EnvironmentRequest): Promise<never> {
  throw new AppError(
    "environment-unbuilt",
    `terminal.backend ${options.backend} is not built yet in this version.`,
  );
}
