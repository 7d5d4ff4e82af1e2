import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { startChild, startChildren } from "../../../../test/support/child.ts";
import { type DockerLab, openDockerLab } from "../../../../test/support/docker.ts";
import type { EnsureInput } from "../../../../test/support/docker-child.ts";
import { scale } from "../../../../test/support/scale.ts";
import { describeWith } from "../../../../test/support/services.ts";
import { neverAborted } from "../../../lib/time/never-aborted.ts";
import type { SandboxSpec } from "../spec/sandbox-spec.ts";
import { ensureSandbox } from "./ensure-sandbox.ts";

const CHILD = new URL("../../../../test/support/docker-child.ts", import.meta.url);
const LONG = { timeout: 600_000 };

describeWith("docker", "ensureSandbox among other processes", (service) => {
  const ensure = (lab: DockerLab, spec: SandboxSpec, engine = lab.engine) =>
    ensureSandbox(engine, spec, lab.reporter, neverAborted);
  const stateOf = (lab: DockerLab, id: string) => lab.inspect(id, "{{.State.Status}}");

  it(
    "F5: the next process starts the container of a process killed between create and start",
    LONG,
    async () => {
      await using lab = await openDockerLab(service);
      const stuck = join(lab.folder, "stuck");
      const { binary } = await lab.wrap(`case $1 in start) echo $$ > ${stuck}; exec sleep 600;; esac`);
      await using creator = startChild(CHILD, "ensure", childInput(lab, binary));
      await creator.next();
      creator.send("go");
      const client = await vi.waitUntil(() => readFile(stuck, "utf8").catch(() => ""), { timeout: 150_000 });
      await creator.kill();
      process.kill(Number(client), "SIGKILL");
      const [left, ...others] = await lab.containers();
      expect(others).toEqual([]);
      expect(await stateOf(lab, left ?? "")).toBe("created");

      expect(await ensure(lab, await lab.spec())).toMatchObject({ id: left, how: "started" });
      expect(await lab.containers()).toEqual([left]);
    },
  );

  it("C54: many processes that request a sandbox at the same time get one container", {
    timeout: 600_000,
  }, async () => {
    await using lab = await openDockerLab(service);
    await using callers = startChildren(scale.processes, CHILD, "ensure", childInput(lab, lab.engine.binary));
    await callers.next();
    callers.send("go");
    const answers = await callers.next<{ id: string; how: string }>();
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
    expect(answers.filter(({ how }) => how === "created")).toHaveLength(1);
    expect(await lab.containers()).toEqual([answers[0]?.id]);
    expect(await stateOf(lab, answers[0]?.id ?? "")).toBe("running");
  });

  it(
    "C54: a process that loses the name adopts the winner, even if the engine lists the winner late",
    LONG,
    async () => {
      await using lab = await openDockerLab(service);
      const spec = await lab.spec();
      const { id } = await ensure(lab, spec);
      const polls = join(lab.folder, "polls");
      // At first the engine reports no such container, as it does while it creates one.
      const creates = join(lab.folder, "creates");
      const late = await lab.wrap(`
      case $1 in
        create) echo $3 >> ${creates};;
        container|ps) echo >> ${polls}; [ $(wc -l < ${polls}) -gt 4 ] || exit $([ $1 = ps ]; echo $?);;
      esac`);
      expect(await ensure(lab, spec, late)).toMatchObject({ id, how: "attached" });
      expect(await readFile(creates, "utf8")).toBe(`${spec.name}\n`);
      expect(await lab.containers()).toEqual([id]);
    },
  );

  it("C54: the spare container is removed when the holder of the name appears late", LONG, async () => {
    await using lab = await openDockerLab(service);
    const spec = await lab.spec();
    const { id } = await ensure(lab, spec);
    const renamed = join(lab.folder, "renamed");
    // Lists nothing until the first rename, which happens only after all polls have failed.
    const engine = await lab.wrap(`
      case $1 in
        rename) touch ${renamed};;
        container|ps) [ -e ${renamed} ] || exit $([ $1 = ps ]; echo $?);;
      esac`);
    expect(await ensure(lab, spec, engine)).toMatchObject({ id, how: "attached" });
    expect(await lab.containers()).toEqual([id]);
  });

  it(
    "C16: several processes that replace the same sandbox at once all get the same new one",
    LONG,
    async () => {
      await using lab = await openDockerLab(service);
      const old = await ensure(lab, await lab.spec());
      const spec = await lab.spec({ container_memory: 300, docker_on_drift: "replace" });
      const answers = await Promise.all([1, 2, 3, 4].map(() => ensure(lab, spec)));
      expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
      expect(answers[0]?.id).not.toBe(old.id);
      expect(await lab.containers()).toEqual([answers[0]?.id]);
    },
  );

  it("C19: an abort during create leaves no container behind", LONG, async () => {
    await using lab = await openDockerLab(service);
    const created = join(lab.folder, "created");
    const engine = await lab.wrap(`[ "$1" = create ] && { real "$@"; touch ${created}; sleep 600; }`);
    const stop = new AbortController();
    const ensuring = ensureSandbox(engine, await lab.spec(), lab.reporter, stop.signal);
    ensuring.catch(() => undefined);
    await vi.waitUntil(
      () =>
        readFile(created).then(
          () => true,
          () => false,
        ),
      { timeout: 150_000 },
    );
    stop.abort(new Error("stopped by the test"));
    await expect(ensuring).rejects.toThrow("stopped by the test");
    expect(await lab.containers()).toEqual([]);
  });

  function childInput(lab: DockerLab, binary: string): EnsureInput {
    return {
      binary,
      dockerHost: service.host,
      profileId: lab.profileId,
      folder: lab.folder,
      image: service.images.busybox,
    };
  }
});
