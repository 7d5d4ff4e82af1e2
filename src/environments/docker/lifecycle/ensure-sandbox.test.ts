import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type DockerLab, openDockerLab } from "../../../../test/support/docker.ts";
import { describeWith } from "../../../../test/support/services.ts";
import { neverAborted } from "../../../lib/time/never-aborted.ts";
import type { SandboxSpec } from "../spec/sandbox-spec.ts";
import { ensureSandbox } from "./ensure-sandbox.ts";

const LONG = { timeout: 600_000 };

describeWith("docker", "ensureSandbox", (service) => {
  const ensure = (lab: DockerLab, spec: SandboxSpec, engine = lab.engine) =>
    ensureSandbox(engine, spec, lab.reporter, neverAborted);
  const stateOf = (lab: DockerLab, id: string) => lab.inspect(id, "{{.State.Status}}");

  it("C1: creates one running container with all labels", LONG, async () => {
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
    "C6, F18: a task whose name has colons, slashes, emoji and 200 letters gets its container and its folders",
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

  it("C9: attaches to the running sandbox with a single call of the client", LONG, async () => {
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
    "C10, C49, C52: resumes a sandbox after %s, with its files",
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

  it("F9: a sandbox that was removed by hand is created again", LONG, async () => {
    await using lab = await openDockerLab(service);
    const spec = await lab.spec();
    const { id } = await ensure(lab, spec);
    await lab.docker("rm", "-f", id);
    const next = await ensure(lab, spec);
    expect(next.how).toBe("created");
    expect(next.id).not.toBe(id);
  });

  it("C52: waits for a removal in progress and then creates the sandbox again", LONG, async () => {
    await using lab = await openDockerLab(service);
    const spec = await lab.spec();
    const { id } = await ensure(lab, spec);
    const polls = join(lab.folder, "polls");
    // Reports "removing" at first, and then really removes the container.
    const removing = await lab.wrap(`
      if [ "$1" = container ] && ! [ -e ${polls}3 ]; then
        real "$@" | sed 's/"Status": *"running"/"Status": "removing"/'
        [ -e ${polls}2 ] && { touch ${polls}3; real rm -f ${id} > /dev/null; }
        [ -e ${polls}1 ] && touch ${polls}2
        touch ${polls}1
        exit
      fi`);
    const next = await ensure(lab, spec, removing);
    expect(next.how).toBe("created");
    expect(await lab.containers()).toEqual([next.id]);
  });

  it(
    "C52: a removal that begins just before the start of a stopped sandbox is awaited like any other",
    LONG,
    async () => {
      await using lab = await openDockerLab(service);
      const spec = await lab.spec();
      const { id } = await ensure(lab, spec);
      await lab.docker("stop", id);
      const refused = join(lab.folder, "refused");
      const polled = join(lab.folder, "polled");
      // The engine refuses to start the container, reports "removing" once, and then really removes it.
      const removing = await lab.wrap(`
      if [ "$1 $2" = "start ${id}" ]; then
        touch ${refused}
        echo "Error response from daemon: container is marked for removal and cannot be started" >&2
        exit 1
      fi
      if [ "$1" = container ] && [ -e ${refused} ] && ! [ -e ${polled} ]; then
        real "$@" | sed 's/"Status": *"exited"/"Status": "removing"/'
        touch ${polled}
        real rm -f ${id} > /dev/null
        exit
      fi`);
      const next = await ensure(lab, spec, removing);
      expect(next.how).toBe("created");
      expect(await lab.containers()).toEqual([next.id]);
    },
  );

  it("C52: a sandbox that stays in the state `dead` is replaced instead of started", LONG, async () => {
    await using lab = await openDockerLab(service);
    const spec = await lab.spec();
    const { id } = await ensure(lab, spec);
    const calls = join(lab.folder, "calls");
    const engine = await lab.wrap(`
      echo "$1 $2" >> ${calls}
      [ "$1" = container ] && { real "$@" | sed '/"Id": *"${id}"/,/"Status"/s/"Status": *"running"/"Status": "dead"/'; exit; }`);
    const next = await ensure(lab, spec, engine);
    expect(next.how).toBe("replaced");
    expect(await lab.containers()).toEqual([next.id]);
    expect(await readFile(calls, "utf8")).not.toContain(`start ${id}`);
  });

  it("C52: waits for a restart in progress and then attaches", LONG, async () => {
    await using lab = await openDockerLab(service);
    const spec = await lab.spec();
    const { id } = await ensure(lab, spec);
    const calls = join(lab.folder, "calls");
    const engine = await lab.wrap(`
      echo "$1" >> ${calls}
      [ $(wc -l < ${calls}) -le 2 ] && { real "$@" | sed 's/"Status": *"running"/"Status": "restarting"/'; exit; }`);
    expect(await ensure(lab, spec, engine)).toMatchObject({ id, how: "attached" });
    expect(new Set((await readFile(calls, "utf8")).trim().split("\n"))).toEqual(new Set(["container"]));
  });

  it("C8: a sandbox keeps its profile label when the profile is renamed", LONG, async () => {
    await using lab = await openDockerLab(service);
    const spec = await lab.spec();
    const { id } = await ensure(lab, spec);
    expect(await ensure(lab, { ...spec, profile: "renamed" })).toMatchObject({
      id,
      how: "attached",
      drift: [],
    });
    expect(await lab.inspect(id, '{{index .Config.Labels "hermes-profile"}}')).toBe("tester");
  });

  it("C18: uses only templates that every engine supports", LONG, async () => {
    await using lab = await openDockerLab(service);
    const calls = join(lab.folder, "calls");
    await ensure(lab, await lab.spec(), await lab.wrap(`echo "$@" >> ${calls}`));
    const templates = (await readFile(calls, "utf8")).match(/\{\{.*?\}\}/g);
    expect(new Set(templates)).toEqual(new Set(["{{json .}}", "{{.ID}}"]));
  });

  it("C14: in opt-out mode each call creates its own container and searches for none", LONG, async () => {
    await using lab = await openDockerLab(service);
    const ownSpec = () => lab.spec({ docker_persist_across_processes: false });
    const calls = join(lab.folder, "calls");
    const counted = await lab.wrap(`echo "$1" >> ${calls}`);
    const first = await ensure(lab, await ownSpec(), counted);
    expect((await readFile(calls, "utf8")).split("\n").slice(0, 4)).toEqual([
      "info",
      "image",
      "create",
      "start",
    ]);
    const second = await ensure(lab, await ownSpec());
    expect([first.how, second.how]).toEqual(["created", "created"]);
    expect((await lab.containers()).toSorted()).toEqual([first.id, second.id].toSorted());
  });

  it("C15: a container of another program with our name is refused and not changed", LONG, async () => {
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

  it(
    "C15: a container of the reference program, with its three labels and our name, is not adopted",
    LONG,
    async () => {
      await using lab = await openDockerLab(service);
      const spec = await lab.spec();
      const labels = ["hermes-agent=1", "hermes-task-id=default", "hermes-profile=tester"];
      const flags = labels.flatMap((label) => ["--label", label]);
      const foreign = await lab.docker(
        "create",
        "--name",
        spec.name,
        ...flags,
        service.images.busybox,
        "true",
      );
      try {
        await expect(ensure(lab, spec)).rejects.toMatchObject({ code: "sandbox-refused" });
        expect(await lab.inspect(foreign, "{{.State.Status}}")).toBe("created");
      } finally {
        await lab.docker("rm", "-f", foreign);
      }
    },
  );
});
