import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { startChild, startChildren } from "../../../test/support/child.ts";
import { type DockerLab, never, openDockerLab } from "../../../test/support/docker.ts";
import type { EnsureInput } from "../../../test/support/docker-child.ts";
import { describeWith } from "../../../test/support/services.ts";
import { type EnsuredSandbox, ensureSandbox } from "./ensure-sandbox.ts";
import type { SandboxSpec, TerminalOptions } from "./sandbox-spec.ts";

const CHILD = new URL("../../../test/support/docker-child.ts", import.meta.url);
const LONG = { timeout: 180_000 };

describeWith("docker", "ensureSandbox", (service) => {
  const ensure = (lab: DockerLab, spec: SandboxSpec, engine = lab.engine): Promise<EnsuredSandbox> =>
    ensureSandbox(engine, spec, lab.reporter, never);
  /** A sandbox that runs, and what is asked for afterwards. */
  async function runningThen(lab: DockerLab, later: Partial<TerminalOptions>) {
    const first = await ensure(lab, await lab.spec());
    return { first, spec: await lab.spec(later) };
  }
  const stateOf = (lab: DockerLab, id: string) => lab.inspect(id, "{{.State.Status}}");

  it("C1: makes one container that runs and carries all labels", LONG, async () => {
    await using lab = await openDockerLab(service);
    const spec = await lab.spec({}, "a task");
    const sandbox = await ensure(lab, spec);
    expect(sandbox).toMatchObject({ how: "created", name: spec.name, drift: [] });
    expect(await lab.containers()).toEqual([sandbox.id]);
    expect(await stateOf(lab, sandbox.id)).toBe("running");
    const labels = JSON.parse(await lab.inspect(sandbox.id, "{{json .Config.Labels}}"));
    expect(labels).toMatchObject({
      "hermes-agent": "1",
      "hermes-task-id": expect.stringMatching(/^a_task-[0-9a-f]{8}$/),
      "hermes-profile": "tester",
      "hermes-profile-id": lab.profileId,
      "hermes-spec": spec.fingerprint,
      "hermes-impl": "ts",
    });
  });

  it(
    "C6, F18: a task of colons, slashes, emoji and 200 letters gets its container and its folders",
    LONG,
    async () => {
      await using lab = await openDockerLab(service);
      const task = `a:b/c*d 👍,"${"x".repeat(200)}`;
      const { id } = await ensure(lab, await lab.spec({}, task));
      await lab.docker("exec", id, "sh", "-c", "echo kept > /workspace/file");
      const mounts: { Destination: string; Source: string }[] = JSON.parse(
        await lab.inspect(id, "{{json .Mounts}}"),
      );
      const workspace = mounts.find(({ Destination }) => Destination === "/workspace")?.Source ?? "";
      expect(await readFile(join(workspace, "file"), "utf8")).toBe("kept\n");
      expect(await lab.inspect(id, '{{index .Config.Labels "hermes-task"}}')).toBe(task);
    },
  );

  it("C9: attaches to the running one with a single call of the client", LONG, async () => {
    await using lab = await openDockerLab(service);
    const spec = await lab.spec();
    const first = await ensure(lab, spec);
    const log = join(lab.folder, "calls");
    const counted = await lab.wrap(`echo "$1 $2" >> ${log}`);
    expect(await ensure(lab, spec, counted)).toEqual({ ...first, how: "attached" });
    expect(await readFile(log, "utf8")).toBe("container inspect\n");
    expect(lab.notices).toEqual([]);
  });

  it.each(["stop", "kill", "pause"])(
    "C10, C49, C52: takes up one after %s, with its files",
    LONG,
    async (verb) => {
      await using lab = await openDockerLab(service);
      const spec = await lab.spec();
      const { id } = await ensure(lab, spec);
      await lab.docker("exec", id, "sh", "-c", "echo here > /etc/mine");
      await lab.docker(verb, id);
      expect(await ensure(lab, spec)).toMatchObject({ id, how: "started" });
      expect(await lab.docker("exec", id, "cat", "/etc/mine")).toBe("here");
      expect(await lab.containers()).toEqual([id]);
    },
  );

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
      const client = await vi.waitUntil(() => readFile(stuck, "utf8").catch(() => ""), { timeout: 60_000 });
      await maker.kill();
      process.kill(Number(client), "SIGKILL");
      const [left, ...others] = await lab.containers();
      expect(others).toEqual([]);
      expect(await stateOf(lab, left ?? "")).toBe("created");

      expect(await ensure(lab, await lab.spec())).toMatchObject({ id: left, how: "started" });
      expect(await lab.containers()).toEqual([left]);
    },
  );

  it("C54: sixteen processes that ask at the same instant get one container", {
    timeout: 300_000,
  }, async () => {
    await using lab = await openDockerLab(service);
    await using askers = startChildren(16, CHILD, "ensure", childInput(lab, lab.engine.binary));
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
    const late = await lab.wrap(`
      case $1 in container|ps) echo >> ${seen}; [ $(wc -l < ${seen}) -gt 4 ] || exit $([ $1 = ps ]; echo $?);; esac`);
    expect(await ensure(lab, spec, late)).toMatchObject({ id, how: "attached" });
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

  it("C11, C53: one that cannot be started is replaced and removed", LONG, async () => {
    await using lab = await openDockerLab(service);
    const spec = await lab.spec();
    const { id } = await ensure(lab, spec);
    await lab.docker("stop", id);
    const engine = await lab.wrap(`[ "$1 $2" = "start ${id}" ] && { echo broken >&2; exit 1; }`);
    const sandbox = await ensure(lab, spec, engine);
    expect(sandbox.how).toBe("replaced");
    expect(await lab.containers()).toEqual([sandbox.id]);
    expect(lab.notices.join()).toContain("cannot be started: broken");
  });

  it("C53: when no new one can be made either, the old one keeps its name and its files", LONG, async () => {
    await using lab = await openDockerLab(service);
    const spec = await lab.spec();
    const { id, name } = await ensure(lab, spec);
    await lab.docker("stop", id);
    const engine = await lab.wrap("case $1 in start|run) echo broken >&2; exit 1;; esac");
    await expect(ensure(lab, spec, engine)).rejects.toMatchObject({ code: "sandbox-unavailable" });
    expect(await lab.containers()).toEqual([id]);
    expect(await lab.inspect(id, "{{.Name}}")).toBe(`/${name}`);
  });

  it("F9: one that was removed by hand is made anew", LONG, async () => {
    await using lab = await openDockerLab(service);
    const spec = await lab.spec();
    const { id } = await ensure(lab, spec);
    await lab.docker("rm", "-f", id);
    const next = await ensure(lab, spec);
    expect(next.how).toBe("created");
    expect(next.id).not.toBe(id);
  });

  it("C52: one that is being removed is waited for and then made anew", LONG, async () => {
    await using lab = await openDockerLab(service);
    const spec = await lab.spec();
    const { id } = await ensure(lab, spec);
    const seen = join(lab.folder, "looks");
    // Says "removing" for the first looks, and really removes it then.
    const going = await lab.wrap(`
      if [ "$1" = container ] && ! [ -e ${seen}3 ]; then
        real "$@" | sed 's/"Status":"running"/"Status":"removing"/'
        [ -e ${seen}2 ] && { touch ${seen}3; real rm -f ${id} > /dev/null; }
        [ -e ${seen}1 ] && touch ${seen}2
        touch ${seen}1
        exit
      fi`);
    const next = await ensure(lab, spec, going);
    expect(next.how).toBe("created");
    expect(await lab.containers()).toEqual([next.id]);
  });

  it("C52: one that stays dead is moved out of the way", LONG, async () => {
    await using lab = await openDockerLab(service);
    const spec = await lab.spec();
    const { id } = await ensure(lab, spec);
    const engine = await lab.wrap(
      `[ "$1" = container ] && { real "$@" | sed '/${id}/s/"Status":"running"/"Status":"dead"/'; exit; }`,
    );
    const next = await ensure(lab, spec, engine);
    expect(next.how).toBe("replaced");
    expect(await lab.containers()).toEqual([next.id]);
  });

  it("C14: in opt-out mode each call makes its own container and looks for none", LONG, async () => {
    await using lab = await openDockerLab(service);
    const own = () => lab.spec({ docker_persist_across_processes: false });
    const first = await ensure(lab, await own());
    const second = await ensure(lab, await own());
    expect([first.how, second.how]).toEqual(["created", "created"]);
    expect((await lab.containers()).toSorted()).toEqual([first.id, second.id].toSorted());
  });

  it("C15: a stranger's container of our name is refused and left alone", LONG, async () => {
    await using lab = await openDockerLab(service);
    const spec = await lab.spec();
    const foreign = await lab.docker("create", "--name", spec.name, service.images.busybox, "true");
    try {
      await expect(ensure(lab, spec)).rejects.toMatchObject({
        code: "sandbox-refused",
        message: expect.stringContaining(spec.name),
      });
      expect(await lab.inspect(foreign, "{{.State.Status}} {{.Name}}")).toBe(`created /${spec.name}`);
    } finally {
      await lab.docker("rm", "-f", foreign);
    }
  });

  it("C15: one of the reference, with its three labels and our name, is not adopted", LONG, async () => {
    await using lab = await openDockerLab(service);
    const spec = await lab.spec();
    const labels = ["hermes-agent=1", "hermes-task-id=default", "hermes-profile=tester"];
    const flags = labels.flatMap((label) => ["--label", label]);
    const foreign = await lab.docker("create", "--name", spec.name, ...flags, service.images.busybox, "true");
    try {
      await expect(ensure(lab, spec)).rejects.toMatchObject({ code: "sandbox-refused" });
      expect(await lab.inspect(foreign, "{{.State.Status}}")).toBe("created");
    } finally {
      await lab.docker("rm", "-f", foreign);
    }
  });

  it(
    "C16, F10: by default one made with other settings is kept, and the differences are told",
    LONG,
    async () => {
      await using lab = await openDockerLab(service);
      const { first, spec } = await runningThen(lab, {
        container_memory: 300,
        docker_image: service.images.bash,
      });
      const again = await ensure(lab, spec);
      expect(again).toMatchObject({ id: first.id, how: "attached" });
      expect(again.drift).toEqual([
        { field: "container_memory", had: "256", wants: "300" },
        { field: "docker_image", had: service.images.busybox, wants: service.images.bash },
      ]);
      expect(lab.notices.join()).toContain("container_memory (has 256, wanted 300)");
    },
  );

  it("C16: a changed value of docker_env is told by its name only", LONG, async () => {
    await using lab = await openDockerLab(service);
    await ensure(lab, await lab.spec({ docker_env: { MODE: "a-secret-one", SAME: "x" } }));
    const { drift } = await ensure(lab, await lab.spec({ docker_env: { MODE: "another", SAME: "x" } }));
    expect(drift.map(({ field }) => field)).toEqual(["docker_env.MODE"]);
    expect(JSON.stringify([drift, lab.notices])).not.toContain("a-secret-one");
  });

  it("C16: `replace` makes a new one and removes the old", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { first, spec } = await runningThen(lab, { container_memory: 300, docker_on_drift: "replace" });
    const next = await ensure(lab, spec);
    expect(next).toMatchObject({ how: "replaced", name: first.name, drift: [] });
    expect(await lab.containers()).toEqual([next.id]);
    expect(await lab.inspect(next.id, "{{.HostConfig.Memory}}")).toBe(String(300 * 1024 ** 2));
    expect(await ensure(lab, spec)).toMatchObject({ id: next.id, how: "attached", drift: [] });
  });

  it("C16: `replace` takes nothing away from a process that uses it", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { first, spec } = await runningThen(lab, { container_memory: 300, docker_on_drift: "replace" });
    await lab.docker("exec", "-d", first.id, "sh", "-c", "sleep 600; :", "hermes-channel");
    expect(await ensure(lab, spec)).toMatchObject({ id: first.id, how: "attached" });
    expect(lab.notices.join()).toContain("is in use");
  });

  it("C16: `refuse` names the differences and changes nothing", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { first, spec } = await runningThen(lab, { docker_pids_limit: 99, docker_on_drift: "refuse" });
    await expect(ensure(lab, spec)).rejects.toMatchObject({
      code: "sandbox-drifted",
      message: expect.stringContaining("docker_pids_limit (has 1024, wanted 99)"),
    });
    expect(await stateOf(lab, first.id)).toBe("running");
  });

  it("C17: who asks for no network never gets one that has it, whatever is to be kept", LONG, async () => {
    await using lab = await openDockerLab(service);
    const first = await ensure(lab, await lab.spec({ docker_network: true }));
    const next = await ensure(lab, await lab.spec({ docker_network: false }));
    expect(next.how).toBe("replaced");
    expect(await lab.inspect(next.id, "{{.HostConfig.NetworkMode}}")).toBe("none");
    expect(await lab.containers()).not.toContain(first.id);
  });

  it("C17: the reverse, no network where one is wanted, is kept", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { first, spec } = await runningThen(lab, { docker_network: true });
    expect(await ensure(lab, spec)).toMatchObject({ id: first.id, how: "attached" });
  });

  it("C12: an engine that cannot tell what it has is an error, not a second container", LONG, async () => {
    await using lab = await openDockerLab(service);
    const spec = await lab.spec();
    await ensure(lab, spec);
    const garbled = await lab.wrap('[ "$1" = container ] && { echo "{]"; exit 0; }');
    await expect(ensure(lab, spec, garbled)).rejects.toMatchObject({ code: "sandbox-unavailable" });
    expect(await lab.containers()).toHaveLength(1);
  });

  it("C19: a start that fails leaves no container behind", LONG, async () => {
    await using lab = await openDockerLab(service);
    const engine = await lab.wrap("case $1 in start|run) echo no room >&2; exit 1;; esac");
    await expect(ensure(lab, await lab.spec(), engine)).rejects.toMatchObject({
      code: "sandbox-unavailable",
      message: expect.stringContaining("no room"),
    });
    expect(await lab.containers()).toEqual([]);
  });

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
      { timeout: 60_000 },
    );
    stop.abort(new Error("told to stop"));
    await expect(ensuring).rejects.toThrow("told to stop");
    expect(await lab.containers()).toEqual([]);
  });

  it("C55: a container in which nothing runs is an error and does not stay", LONG, async () => {
    await using lab = await openDockerLab(service);
    const engine = await lab.wrap('[ "$1" = exec ] && { echo cannot fork >&2; exit 1; }');
    await expect(ensure(lab, await lab.spec(), engine)).rejects.toMatchObject({
      message: expect.stringContaining("runs no commands: cannot fork"),
    });
    expect(await lab.containers()).toEqual([]);
  });

  it(
    "F29: a mount that shows other files than ours is an error, and the sandbox does not stay",
    LONG,
    async () => {
      await using lab = await openDockerLab(service);
      await writeFile(join(lab.host.cwd, "witness"), "");
      const spec = await lab.spec({ docker_mount_cwd_to_workspace: true });
      // The engine elsewhere: it has a folder of that name, but not with our files.
      const elsewhere = await lab.wrap(`
      [ "$1" = create ] && {
        mkdir -p ${lab.folder}/elsewhere
        for word; do
          shift
          set -- "$@" "$(printf %s "$word" | sed 's#source=${lab.host.cwd}#source=${lab.folder}/elsewhere#')"
        done
      }`);
      await expect(ensure(lab, spec, elsewhere)).rejects.toMatchObject({
        code: "sandbox-mount-refused",
        message: expect.stringContaining(lab.host.cwd),
      });
      expect(await lab.containers()).toEqual([]);
      expect(await ensure(lab, spec)).toMatchObject({ how: "created" });
    },
  );

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
