import { expect, test } from "vitest";
import { openDockerLab, testOptions } from "../../../../test/support/docker.ts";
import { describeWith } from "../../../../test/support/services.ts";
import { neverAborted } from "../../../lib/time/never-aborted.ts";
import { createEngine } from "../engine/engine.ts";
import { ensureSandbox } from "../lifecycle/ensure-sandbox.ts";
import { reclaimAtStart } from "./reclaim-at-start.ts";

const HOUR_MS = 3_600_000;

describeWith("docker", "reclaimAtStart", (service) => {
  async function createAbandonedSandbox() {
    const lab = await openDockerLab(service);
    const { id } = await ensureSandbox(lab.engine, await lab.spec(), lab.reporter, neverAborted);
    await lab.docker("kill", id);
    const start = (now: number, overrides: Parameters<typeof testOptions>[1] = {}, engine = lab.engine) =>
      reclaimAtStart(
        {
          engine,
          options: testOptions(service.images.busybox, { docker_stopped_ttl_seconds: 600, ...overrides }),
          profileId: lab.profileId,
          sandboxesFolder: lab.host.sandboxesFolder,
          reporter: lab.reporter,
          now,
        },
        neverAborted,
      );
    return { lab, start };
  }

  test("C33: reclaims an abandoned sandbox, and does not check again for a while", async () => {
    const { lab, start } = await createAbandonedSandbox();
    await using _ = lab;
    await start(Date.now());
    expect(await lab.containers()).toHaveLength(1);
    await start(Date.now() + HOUR_MS / 60);
    expect(await lab.containers()).toHaveLength(1);
    await start(Date.now() + HOUR_MS);
    expect(await lab.containers()).toEqual([]);
    expect(lab.notices.join()).toContain("removed");
  });

  test("C33: a stamp in the future, written with a wrong clock, does not disable the reaper", async () => {
    const { lab, start } = await createAbandonedSandbox();
    await using _ = lab;
    await start(Date.now() + 1_000 * HOUR_MS, { docker_orphan_reaper: true }, await lab.wrap("exit 1"));
    await start(Date.now() + HOUR_MS);
    expect(await lab.containers()).toEqual([]);
  });

  test("C34: a disabled reaper does not call the engine, and works when it is enabled later", async () => {
    const { lab, start } = await createAbandonedSandbox();
    await using _ = lab;
    await start(
      Date.now() + HOUR_MS,
      { docker_orphan_reaper: false },
      createEngine("/nonexistent/docker", {}),
    );
    await start(Date.now() + HOUR_MS);
    expect(await lab.containers()).toEqual([]);
  });

  test("C44: an engine that does not answer is reported, and the process continues", async () => {
    const { lab, start } = await createAbandonedSandbox();
    await using _ = lab;
    const engine = await lab.wrap('echo "engine is away" >&2; exit 1');
    await start(Date.now(), {}, engine);
    expect(lab.notices.join()).toContain("Cannot check for abandoned sandboxes");
  });
});
