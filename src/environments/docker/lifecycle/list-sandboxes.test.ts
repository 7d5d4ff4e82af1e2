import { expect, it } from "vitest";
import { type DockerLab, openDockerLab } from "../../../../test/support/docker.ts";
import { describeWith } from "../../../../test/support/services.ts";
import { neverAborted } from "../../../lib/time/never-aborted.ts";
import { ensureSandbox } from "./ensure-sandbox.ts";
import { listSandboxes, type SandboxQuery } from "./list-sandboxes.ts";

const LONG = { timeout: 600_000 };

describeWith("docker", "listSandboxes", (service) => {
  const list = (lab: DockerLab, query: Partial<SandboxQuery> = {}) =>
    listSandboxes(
      lab.engine,
      {
        profile: { name: "tester", id: lab.profileId },
        stores: [{ name: "tester", sandboxesFolder: lab.host.sandboxesFolder, profileId: lab.profileId }],
        keepRules: { lifetimeSeconds: 300, stoppedTtlSeconds: 1_209_600 },
        withSize: false,
        specOf: async () => undefined,
        ...query,
      },
      neverAborted,
    );
  const create = async (lab: DockerLab, task: string) =>
    (await ensureSandbox(lab.engine, await lab.spec({}, task), lab.reporter, neverAborted)).id;

  it("returns state, task, times, lease, drift and size of each of our sandboxes", LONG, async () => {
    await using lab = await openDockerLab(service);
    const held = await create(lab, "a/b 👍");
    const ended = await create(lab, "ended");
    await lab.startIn(held, "sh", "-c", "sleep 600; :", "hermes-channel");
    await lab.docker("exec", held, "touch", "-d", "@2000000000", "/tmp/.hermes-last-use");
    await lab.docker("exec", held, "sh", "-c", "head -c 100000 /dev/zero > /data");
    await lab.docker("stop", ended);
    const wanted = await lab.spec({ docker_pids_limit: 7 }, "a/b 👍");
    const rows = await list(lab, {
      withSize: true,
      specOf: async (task) => (task === "ended" ? undefined : wanted),
    });
    expect(rows.find(({ id }) => id === held)).toEqual({
      id: held,
      name: wanted.name,
      state: "running",
      image: service.images.busybox,
      profile: "tester",
      task: "a/b 👍",
      created_at: new Date(Date.parse(await lab.inspect(held, "{{.Created}}"))).toISOString(),
      last_used_at: "2033-05-18T03:33:20.000Z",
      kept_until: null,
      leased: true,
      held_by: [{ pid: null, command: null, since: expect.any(String) }],
      jobs: [],
      drift: [{ field: "docker_pids_limit", had: "1024", wants: "7" }],
      size_bytes: expect.any(Number),
      files_bytes: expect.any(Number),
      origin: null,
      limits: { cpus: 1, memory_bytes: 256 * 1024 * 1024, pids: 1024 },
      ours: true,
    });
    expect(rows.find(({ id }) => id === held)?.size_bytes).toBeGreaterThanOrEqual(100_000);
    expect(rows.find(({ id }) => id === ended)).toMatchObject({
      state: "exited",
      leased: false,
      held_by: [],
      drift: [],
      last_used_at: new Date(Date.parse(await lab.inspect(ended, "{{.State.FinishedAt}}"))).toISOString(),
    });
    expect(rows).toHaveLength(2);
  });

  it(
    "lists a container that another program created for a profile of that name, marked as not ours",
    LONG,
    async () => {
      await using lab = await openDockerLab(service);
      const name = `p-${lab.profileId}`;
      const labels = ["hermes-agent=1", "hermes-task-id=theirs", `hermes-profile=${name}`];
      const flags = labels.flatMap((label) => ["--label", label]);
      const foreign = await lab.docker("create", ...flags, service.images.busybox, "true");
      try {
        const rows = await list(lab, { profile: { name, id: lab.profileId } });
        expect(rows).toMatchObject([{ id: foreign, task: "theirs", ours: false, last_used_at: null }]);
        const all = await list(lab, { profile: undefined });
        expect(all.map(({ id }) => id)).toContain(foreign);
        expect(await list(lab)).toEqual([]);
      } finally {
        await lab.docker("rm", "-f", foreign);
      }
    },
  );

  it("throws instead of returning an empty list when the engine does not answer", LONG, async () => {
    await using lab = await openDockerLab(service);
    await create(lab, "default");
    const unreachable = await lab.wrap("exit 1");
    await expect(list({ ...lab, engine: unreachable })).rejects.toMatchObject({
      code: "sandbox-unavailable",
    });
    const listsOnly = await lab.wrap("case $1 in container|version) exit 1;; esac");
    await expect(list({ ...lab, engine: listsOnly })).rejects.toMatchObject({ code: "sandbox-unavailable" });
  });
});
