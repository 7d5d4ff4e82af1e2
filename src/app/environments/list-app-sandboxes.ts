import { createDockerRequest } from "../../environments/docker/engine/prepare-docker.ts";
import { listSandboxes, type SandboxRow } from "../../environments/docker/lifecycle/list-sandboxes.ts";
import { keepRules } from "../../environments/docker/reclaim/keep-rules.ts";
import type { App } from "../app.ts";
import { createEnvironmentFacts } from "./environments.ts";
import { listKnownProfiles, openDocker, quietReporter } from "./sandbox.ts";

/** The sandboxes of a profile; empty for a backend without containers. Throws if the engine cannot be reached. */
export async function listAppSandboxes(app: App, signal: AbortSignal): Promise<readonly SandboxRow[]> {
  const { backend } = app.resolved.config.terminal;
  if (backend !== "docker" && backend !== "podman") return [];
  const facts = createEnvironmentFacts(app, { cwd: app.userHome, reporter: quietReporter });
  const request = { ...facts, task: "default" };
  const { engine } = await openDocker(request, { recover: false }, signal);
  const profile = { name: app.profile.name, id: await request.profileId() };
  const query = {
    profile,
    stores: await listKnownProfiles(app, app.profile.root),
    keepRules: keepRules(request.options),
    withSize: false,
    specOf: async (task: string, owner: string) =>
      owner === profile.id ? (await createDockerRequest({ ...request, task }, signal)).spec : undefined,
  };
  return await listSandboxes(engine, query, signal);
}
