import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { startChild, startChildren } from "../../../test/support/child.ts";
import { type DockerLab, never, openDockerLab } from "../../../test/support/docker.ts";
import type { EnsureInput } from "../../../test/support/docker-child.ts";
import { scale } from "../../../test/support/scale.ts";
import { describeWith } from "../../../test/support/services.ts";
import { ensureSandbox } from "./ensure-sandbox.ts";
import type { SandboxSpec } from "./sandbox-spec.ts";

const CHILD = new URL("../../../test/support/docker-child.ts", import.meta.url);
const LONG = { timeout: 600_000 };

describeWith("docker", "ensureSandbox among other processes", (service) => {
  const ensure = (lab: DockerLab, spec: SandboxSpec, engine = lab.engine) =>
    ensureSandbox(engine, spec, lab.reporter, never);
  const stateOf = (lab: DockerLab, id: string) => lab.inspect(id, "{{.State.Status}}");

  it(
    "F5: a maker killed between create and start leaves one that the next process starts",
    LONG,
    async () => {
      await using lab = await openDockerLab(service);
      const stuck = join(lab.folder, "stuck");
      const { binary } = await lab.wrap(`case $1 in start) echo $$ > ${stuck}; exec sleep 600;; esac`);
      await using maker = startChild(CHILD, "ensure", childInput(lab, binary));
      await maker.next();
      maker.tell("go");
      const client = await vi.waitUntil(() => readFile(stuck, "utf8").catch(() => ""), { timeout: 150_000 });
      await maker.kill();
      process.kill(Number(client), "SIGKILL");
      const [left, ...others] = await lab.containers();
      expect(others).toEqual([]);
      expect(await stateOf(lab, left ?? "")).toBe("created");

      expect(await ensure(lab, await lab.spec())).toMatchObject({ id: left, how: "started" });
      expect(await lab.containers()).toEqual([left]);
    },
  );

  it("C54: many processes that ask at the same instant get one container", {
    timeout: 600_000,
  }, async () => {
    await using lab = await openDockerLab(service);
    await using askers = startChildren(scale.processes, CHILD, "ensure", childInput(lab, lab.engine.binary));
    await askers.next();
    askers.tell("go");
    const answers = await askers.next<{ id: string; how: string }>();
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
    expect(answers.filter(({ how }) => how === "created")).toHaveLength(1);
    expect(await lab.containers()).toEqual([answers[0]?.id]);
    expect(await stateOf(lab, answers[0]?.id ?? "")).toBe("running");
  });

  it("C54: whoever loses the name takes the winner, also when that shows up late", LONG, async () => {
    await using lab = await openDockerLab(service);
    const spec = await lab.spec();
    const { id } = await ensure(lab, spec);
    const seen = join(lab.folder, "looks");
    // For the first looks the engine pretends to have no such container, as it does while it is making one.
    const creates = join(lab.folder, "creates");
    const late = await lab.wrap(`
      case $1 in
        create) echo $3 >> ${creates};;
        container|ps) echo >> ${seen}; [ $(wc -l < ${seen}) -gt 4 ] || exit $([ $1 = ps ]; echo $?);;
      esac`);
    expect(await ensure(lab, spec, late)).toMatchObject({ id, how: "attached" });
    expect(await readFile(creates, "utf8")).toBe(`${spec.name}\n`);
    expect(await lab.containers()).toEqual([id]);
  });

  it(
    "C54: a name whose holder never shows up is waited for, and a spare container does not stay",
    LONG,
    async () => {
      await using lab = await openDockerLab(service);
      const spec = await lab.spec();
      const { id } = await ensure(lab, spec);
      const blind = join(lab.folder, "blind");
      // Blind until a rename is tried, which happens only after waiting in vain.
      const engine = await lab.wrap(`
      case $1 in
        rename) touch ${blind};;
        container|ps) [ -e ${blind} ] || exit $([ $1 = ps ]; echo $?);;
      esac`);
      expect(await ensure(lab, spec, engine)).toMatchObject({ id, how: "attached" });
      expect(await lab.containers()).toEqual([id]);
    },
  );

  it(
    "C16: several that replace the same one at once end up with one, and it is the same for all",
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

  it("C19: an abort while the engine creates leaves no container behind", LONG, async () => {
    await using lab = await openDockerLab(service);
    const made = join(lab.folder, "made");
    const engine = await lab.wrap(`[ "$1" = create ] && { real "$@"; touch ${made}; sleep 600; }`);
    const stop = new AbortController();
    const ensuring = ensureSandbox(engine, await lab.spec(), lab.reporter, stop.signal);
    ensuring.catch(() => undefined);
    await vi.waitUntil(
      () =>
        readFile(made).then(
          () => true,
          () => false,
        ),
      { timeout: 150_000 },
    );
    stop.abort(new Error("told to stop"));
    await expect(ensuring).rejects.toThrow("told to stop");
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
