import { createDockerRequest } from "../../environments/docker/engine/prepare-docker.ts";
import { listSandboxes, type SandboxRow } from "../../environments/docker/lifecycle/list-sandboxes.ts";
import { keepRules } from "../../environments/docker/reclaim/keep-rules.ts";
import { createJobCommandFinder } from "../../environments/jobs/job-command.ts";
import type { AppChoice } from "../app.ts";
import { listKnownProfiles, type OpenedDocker, quietReporter } from "./sandbox.ts";

/** Lists the sandboxes on an engine, of the profile of the request or of all profiles. */
export async function listSandboxesOf(
  { engine, request }: Pick<OpenedDocker, "engine" | "request">,
  choice: Pick<AppChoice, "variables" | "settings">,
  { allProfiles = false, withSize = false }: { readonly allProfiles?: boolean; readonly withSize?: boolean },
  signal: AbortSignal,
): Promise<SandboxRow[]> {
  const profile = { name: request.profile.name, id: await request.profileId() };
  // Only this profile's settings are loaded, so drift is known only for its sandboxes. The request is quiet, because notices are
  // reported when a sandbox is used.
  const specOf = async (task: string, owner: string) =>
    owner === profile.id
      ? (await createDockerRequest({ ...request, task, reporter: quietReporter }, signal)).spec
      : undefined;
  const query = {
    profile: allProfiles ? undefined : profile,
    stores: await listKnownProfiles(choice, request.profile.root),
    keepRules: keepRules(request.options),
    withSize,
    lookUpJobs: createJobCommandFinder(request.profile.home),
    specOf,
  };
  return await listSandboxes(engine, query, signal);
}
