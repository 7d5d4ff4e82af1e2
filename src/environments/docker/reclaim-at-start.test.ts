import { expect, test } from "vitest";
import { openDockerLab, testOptions } from "../../../test/support/docker.ts";
import { describeWith } from "../../../test/support/services.ts";
import { createEngine } from "./engine.ts";
import { ensureSandbox } from "./ensure-sandbox.ts";
import { reclaimAtStart } from "./reclaim-at-start.ts";

const never = new AbortController().signal;
const HOUR_MS = 3_600_000;

describeWith("docker", "what a process does for its predecessors when it starts", (service) => {
  async function abandoned() {
    const lab = await openDockerLab(service);
    const { id } = await ensureSandbox(lab.engine, await lab.spec(), lab.reporter, never);
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
        never,
      );
    return { lab, start };
  }

  test("C33: it reclaims what was abandoned, and does not look again for a while", async () => {
    const { lab, start } = await abandoned();
    await using _ = lab;
    await start(Date.now());
    expect(await lab.containers()).toHaveLength(1);
    await start(Date.now() + HOUR_MS / 60);
    expect(await lab.containers()).toHaveLength(1);
    await start(Date.now() + HOUR_MS);
    expect(await lab.containers()).toEqual([]);
    expect(lab.notices.join()).toContain("removed");
  });

  test("C33: a stamp from the future, left by a wrong clock, does not switch it off", async () => {
    const { lab, start } = await abandoned();
    await using _ = lab;
    await start(Date.now() + 1_000 * HOUR_MS, { docker_orphan_reaper: true }, await lab.wrap("exit 1"));
    await start(Date.now() + HOUR_MS);
    expect(await lab.containers()).toEqual([]);
  });

  test("C34: switched off it asks the engine nothing, and works when it is switched on later", async () => {
    const { lab, start } = await abandoned();
    await using _ = lab;
    await start(
      Date.now() + HOUR_MS,
      { docker_orphan_reaper: false },
      createEngine("/nonexistent/docker", {}),
    );
    await start(Date.now() + HOUR_MS);
    expect(await lab.containers()).toEqual([]);
  });

  test("C44: an engine that does not answer is told, and stops nothing", async () => {
    const { lab, start } = await abandoned();
    await using _ = lab;
    const engine = await lab.wrap('echo "engine is away" >&2; exit 1');
    await start(Date.now(), {}, engine);
    expect(lab.notices.join()).toContain("could not be looked for");
  });
});
