import { join } from "node:path";
import type { EnvironmentRequest } from "../environment-request.ts";
import { createInstanceSpec } from "./instance-spec.ts";
import { requireProgram } from "./require-program.ts";
import { chooseScratchFolder } from "./scratch-folder.ts";
import type { SingularityEnvironmentOptions } from "./singularity-environment.ts";

/** Finds the program and creates the spec for a request; nothing is started yet. */
export async function prepareSingularity(
  request: EnvironmentRequest,
  signal: AbortSignal,
): Promise<SingularityEnvironmentOptions> {
  const { options, profile, reporter, variables, userHome, cwd, task } = request;
  const engine = await requireProgram(variables, signal);
  const scratchFolder = await chooseScratchFolder({
    setting: options.scratch_dir,
    user: variables["USER"],
    clusterFolder: "/scratch",
    sandboxesFolder: options.sandbox_dir === "" ? join(profile.home, "sandboxes") : options.sandbox_dir,
  });
  const { spec, notices } = createInstanceSpec(
    options,
    { profileId: await request.profileId(), task },
    {
      scratchFolder,
      cacheFolder:
        variables["APPTAINER_CACHEDIR"] ||
        variables["SINGULARITY_CACHEDIR"] ||
        join(scratchFolder, ".apptainer"),
      userHome,
      cwd,
      uid: process.getuid?.(),
      findValue: (name) => request.variable(name),
    },
  );
  for (const notice of notices) reporter.onNotice(notice);
  return { engine, variables, spec, reporter };
}
