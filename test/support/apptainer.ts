import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { describe } from "vitest";
import { createEngine } from "../../src/environments/docker/engine/engine.ts";
import type { Environment } from "../../src/environments/environment.ts";
import type { Reporter } from "../../src/environments/environment-request.ts";
import { type TerminalOptions, terminalOptions } from "../../src/environments/options.ts";
import type { ImageBuilder } from "../../src/environments/singularity/instance-image.ts";
import { createInstanceSpec, type InstanceSpec } from "../../src/environments/singularity/instance-spec.ts";
import { openSingularityEnvironment } from "../../src/environments/singularity/singularity-environment.ts";
import { tempFolder } from "./temp-folder.ts";

const run = promisify(execFile);

export interface Apptainer {
  readonly program: string;
  /** Image folders as `apptainer build --sandbox` creates them. */
  readonly images: { readonly bash: string; readonly busybox: string };
}

/** `describe` where HERMES_TEST_APPTAINER names a folder with bin/apptainer and images/{bash,busybox}. */
export function describeWithApptainer(name: string, body: (apptainer: Apptainer) => void): void {
  const folder = process.env["HERMES_TEST_APPTAINER"] ?? "";
  const program = join(folder, "bin/apptainer");
  const images = { bash: join(folder, "images/bash"), busybox: join(folder, "images/busybox") };
  const reason = folder === "" ? "HERMES_TEST_APPTAINER is not set" : `${program} does not exist`;
  if (folder !== "" && existsSync(program)) describe(name, () => body({ program, images }));
  else describe.skip(`${name} [skipped: ${reason}]`, () => body({ program, images }));
}

/** A separate user with their own instances, which are removed at the end of the scope. */
export interface ApptainerLab extends AsyncDisposable {
  readonly folder: string;
  readonly profileId: string;
  readonly builder: ImageBuilder;
  readonly notices: string[];
  readonly progress: string[];
  readonly reporter: Reporter;
  /** Values that the profile may forward. */
  readonly values: Map<string, string>;
  spec(overrides?: Partial<TerminalOptions>, task?: string): InstanceSpec;
  open(overrides?: Partial<TerminalOptions>, task?: string): Environment;
  /** Names of the running instances. */
  instances(): Promise<string[]>;
  stop(name: string): Promise<void>;
  /** The same lab behind a script that gets `$@` first; calls that it does not handle go to the program. */
  wrap(script: string): Promise<ApptainerLab>;
}

export async function openApptainerLab(program: string, image: string): Promise<ApptainerLab> {
  const temp = await tempFolder();
  const home = temp.file("person");
  await mkdir(home);
  const env = { PATH: `${dirname(program)}:${process.env["PATH"]}`, HOME: home };
  const instances = async (): Promise<string[]> => {
    const { stdout } = await run(program, ["instance", "list", "--json"], { env });
    return JSON.parse(stdout).instances.map(({ instance }: { instance: string }) => instance);
  };
  const stop = async (name: string): Promise<void> =>
    void (await run(program, ["instance", "stop", name], { env }));
  const profileId = randomBytes(8).toString("hex");

  function labOf(binary: string): ApptainerLab {
    const notices: string[] = [];
    const progress: string[] = [];
    const reporter = {
      onNotice: (text: string) => void notices.push(text),
      onProgress: (text: string) => void progress.push(text),
    };
    const values = new Map<string, string>();
    const builder = { engine: createEngine(binary, env), variables: env };
    const spec: ApptainerLab["spec"] = (overrides = {}, task = "default") =>
      createInstanceSpec(
        terminalOptions.parse({
          backend: "singularity",
          singularity_image: image,
          container_memory: 256,
          ...overrides,
        }),
        { profileId, task },
        {
          scratchFolder: temp.file("scratch"),
          cacheFolder: temp.file("scratch/.apptainer"),
          userHome: home,
          cwd: temp.path,
          uid: process.getuid?.(),
          findValue: (name) => values.get(name),
        },
      ).spec;
    return {
      folder: temp.path,
      profileId,
      builder,
      notices,
      progress,
      reporter,
      values,
      instances,
      stop,
      spec,
      open: (overrides, task) =>
        openSingularityEnvironment({ ...builder, spec: spec(overrides, task), reporter }),
      async wrap(script) {
        const path = temp.file(`program-${randomBytes(4).toString("hex")}`);
        await writeFile(path, `#!/bin/sh\n${script}\nexec "${program}" "$@"\n`);
        await chmod(path, 0o755);
        return labOf(path);
      },
      async [Symbol.asyncDispose]() {
        for (const name of await instances()) await stop(name);
        await temp[Symbol.asyncDispose]();
      },
    };
  }
  return labOf(program);
}
