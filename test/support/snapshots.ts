import type { Engine } from "../../src/environments/docker/engine.ts";
import { ensureSandbox } from "../../src/environments/docker/ensure-sandbox.ts";
import type { SandboxPlace } from "../../src/environments/docker/sandbox-record.ts";
import type { SandboxSpec } from "../../src/environments/docker/sandbox-spec.ts";
import { listOwnImages } from "../../src/environments/docker/snapshots/own-images.ts";
import { type DockerLab, never, openDockerLab } from "./docker.ts";
import type { RunningPart } from "./services.ts";

/** A lab whose images are gone at the end, too. */
export interface SnapshotLab extends DockerLab {
  readonly place: SandboxPlace;
  readonly options: { sandboxesFolder: string; now: number; reporter: DockerLab["reporter"] };
  /** What a command prints in the sandbox of a spec, which is made when it is missing. */
  sh(spec: SandboxSpec, command: string): Promise<string>;
  images(): Promise<string[]>;
}

export async function openSnapshotLab(service: RunningPart<"docker">): Promise<SnapshotLab> {
  const lab = await openDockerLab(service);
  const place = { sandboxesFolder: lab.host.sandboxesFolder, profileId: lab.profileId };
  return {
    ...lab,
    place,
    get options() {
      return { sandboxesFolder: place.sandboxesFolder, now: Date.now(), reporter: lab.reporter };
    },
    async sh(spec, command) {
      const { id } = await ensureSandbox(lab.engine, spec, lab.reporter, never);
      return lab.docker("exec", id, "sh", "-c", command);
    },
    images: () => imagesOf(lab.engine, lab.profileId),
    async [Symbol.asyncDispose]() {
      const ids = await lab.containers();
      if (ids.length > 0) await lab.docker("rm", "-f", "-v", ...ids);
      for (const tag of await imagesOf(lab.engine, lab.profileId)) await lab.docker("rmi", "-f", tag);
      await lab[Symbol.asyncDispose]();
    },
  };
}

/** The tags of the images that snapshots and forks of a profile made. */
async function imagesOf(engine: Engine, profileId: string): Promise<string[]> {
  return (await listOwnImages(engine, profileId, never)).map(({ tag }) => tag);
}
