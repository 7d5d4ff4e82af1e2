import type { Engine } from "../../src/environments/docker/engine/engine.ts";
import { ensureSandbox } from "../../src/environments/docker/lifecycle/ensure-sandbox.ts";
import type { SandboxStore } from "../../src/environments/docker/lifecycle/sandbox-record.ts";
import { listOwnImages } from "../../src/environments/docker/snapshots/own-images.ts";
import type { SandboxSpec } from "../../src/environments/docker/spec/sandbox-spec.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { type DockerLab, openDockerLab } from "./docker.ts";
import type { RunningPart } from "./services.ts";

/** A lab whose images are also removed at the end. */
export interface SnapshotLab extends DockerLab {
  readonly store: SandboxStore;
  readonly options: { sandboxesFolder: string; now: number; reporter: DockerLab["reporter"] };
  /** The output of a command in the sandbox of a spec, which is created if missing. */
  sh(spec: SandboxSpec, command: string): Promise<string>;
  images(): Promise<string[]>;
}

export async function openSnapshotLab(service: RunningPart<"docker">): Promise<SnapshotLab> {
  const lab = await openDockerLab(service);
  const store = { sandboxesFolder: lab.host.sandboxesFolder, profileId: lab.profileId };
  return {
    ...lab,
    store,
    get options() {
      return { sandboxesFolder: store.sandboxesFolder, now: Date.now(), reporter: lab.reporter };
    },
    async sh(spec, command) {
      const { id } = await ensureSandbox(lab.engine, spec, lab.reporter, neverAborted);
      return lab.docker("exec", id, "sh", "-c", command);
    },
    images: () => imagesOf(lab.engine, lab.profileId),
    async [Symbol.asyncDispose]() {
      await lab.removeAll();
      const tags = await imagesOf(lab.engine, lab.profileId);
      if (tags.length > 0) await lab.docker("rmi", "-f", ...tags);
      await lab[Symbol.asyncDispose]();
    },
  };
}

/** The tags of the images of a profile's snapshots and forks. */
async function imagesOf(engine: Engine, profileId: string): Promise<string[]> {
  return (await listOwnImages(engine, profileId, neverAborted)).map(({ tag }) => tag);
}
