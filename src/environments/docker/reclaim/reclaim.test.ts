import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type DockerLab, openDockerLab } from "../../../../test/support/docker.ts";
import { describeWith } from "../../../../test/support/services.ts";
import { readOwnIdentity, serialiseIdentity } from "../../../lib/process/process-identity.ts";
import { neverAborted } from "../../../lib/time/never-aborted.ts";
import { ensureSandbox } from "../lifecycle/ensure-sandbox.ts";
import { deleteSandboxRecord, loadRecords } from "../lifecycle/sandbox-record.ts";
import { replacedName } from "../spec/sandbox-names.ts";
import { type ReclaimRules, reclaimSandboxes } from "./reclaim.ts";

const LONG = { timeout: 600_000 };
const DAY_SECONDS = 86_400;
const dayMs = DAY_SECONDS * 1_000;

describeWith("docker", "reclaimSandboxes", (service) => {
  const create = async (lab: DockerLab, task = "default") =>
    (await ensureSandbox(lab.engine, await lab.spec({}, task), lab.reporter, neverAborted)).id;
  const storeOf = ({ host, profileId }: DockerLab) => ({ sandboxesFolder: host.sandboxesFolder, profileId });
  async function createStopped(lab: DockerLab, task = "default") {
    const id = await create(lab, task);
    await lab.docker("stop", id);
    return { id, finishedAt: Date.parse(await lab.inspect(id, "{{.State.FinishedAt}}")) };
  }
  /** A stopped sandbox without a record. */
  async function createOrphan(lab: DockerLab, task = "default") {
    const ended = await createStopped(lab, task);
    await deleteSandboxRecord(storeOf(lab), ended.id);
    return ended;
  }
  const startOf = async (lab: DockerLab, id: string) =>
    Date.parse(await lab.inspect(id, "{{.State.StartedAt}}"));
  const reclaim = async (
    lab: DockerLab,
    now: number,
    rules: Partial<ReclaimRules> = {},
    engine = lab.engine,
  ) => {
    const { rows, problem } = await reclaimSandboxes(
      engine,
      {
        profileId: lab.profileId,
        stores: [storeOf(lab)],
        lifetimeSeconds: 300,
        stoppedTtlSeconds: 14 * DAY_SECONDS,
        idleTtlSeconds: DAY_SECONDS,
        maxAgeSeconds: 0,
        dryRun: false,
        now,
        ...rules,
      },
      neverAborted,
    );
    expect(problem).toBeUndefined();
    return rows;
  };
  async function labelsOf(lab: DockerLab, id: string) {
    const labels: Record<string, string> = JSON.parse(await lab.inspect(id, "{{json .Config.Labels}}"));
    return Object.entries(labels).flatMap(([name, value]) => ["--label", `${name}=${value}`]);
  }
  const stateOf = (lab: DockerLab, id: string) => lab.inspect(id, "{{.State.Status}}");

  describe("a stopped sandbox without a record", () => {
    let lab: DockerLab;
    let orphan: Awaited<ReturnType<typeof createOrphan>>;
    beforeAll(async () => {
      lab = await openDockerLab(service);
      orphan = await createOrphan(lab);
    });
    afterAll(() => lab[Symbol.asyncDispose]());

    it("is kept like the sandbox of a task if the records of its profile cannot be read", LONG, async () => {
      const { id, finishedAt } = orphan;
      expect(await reclaim(lab, finishedAt + 10_000_000, { stores: [] })).toMatchObject([
        { id, action: "kept" },
      ]);
    });

    it.each([
      ["is before its last start, because the machine crashed at an unknown time", "2020-01-01T00:00:00Z"],
      ["is unknown", "0001-01-01T00:00:00Z"],
    ])("C40: is kept if its recorded end %s", LONG, async (_, end) => {
      const { id, finishedAt } = orphan;
      const engine = await lab.wrap(
        `[ "$1" = container ] && { real "$@" | sed 's/"FinishedAt": *"[^"]*"/"FinishedAt": "${end}"/'; exit; }`,
      );
      expect(await reclaim(lab, finishedAt + 10 ** 10, {}, engine)).toMatchObject([
        { id, action: "kept", reason: expect.stringContaining("the time when it stopped is unknown") },
      ]);
    });

    it(
      "C38, C39: is kept for twice its lifetime, then reported by a dry run, and removed",
      LONG,
      async () => {
        const { id, finishedAt } = orphan;
        expect(await reclaim(lab, finishedAt + 599_000)).toMatchObject([
          { id, action: "kept", state: "exited" },
        ]);
        expect(await reclaim(lab, finishedAt + 601_000, { dryRun: true })).toMatchObject([
          { id, action: "removed" },
        ]);
        expect(await stateOf(lab, id)).toBe("exited");
        expect(await reclaim(lab, finishedAt + 601_000)).toMatchObject([
          { id, action: "removed", task: "default", profile: "tester" },
        ]);
        expect(await lab.containers()).toEqual([]);
      },
    );
  });

  describe("a running sandbox", () => {
    let lab: DockerLab;
    let id: string;
    beforeAll(async () => {
      lab = await openDockerLab(service);
      id = await create(lab);
    });
    afterAll(() => lab[Symbol.asyncDispose]());

    it("is kept for ever if both limits are 0", LONG, async () => {
      const rules = { idleTtlSeconds: 0, maxAgeSeconds: 0 };
      expect(await reclaim(lab, Date.now() + 10 ** 11, rules)).toMatchObject([{ id, action: "kept" }]);
    });

    it("C50: is kept if its last use cannot be read", LONG, async () => {
      const failing = await lab.wrap('[ "$1" = exec ] && exit 1');
      expect(await reclaim(lab, Date.now() + 10 ** 10, {}, failing)).toMatchObject([{ id, action: "kept" }]);
    });

    it("is kept while it is paused", LONG, async () => {
      await lab.docker("pause", id);
      expect(await reclaim(lab, Date.now() + 10 ** 10)).toMatchObject([{ action: "kept", state: "paused" }]);
      await lab.docker("unpause", id);
    });

    it("C50: is kept while a process holds it, at any age", LONG, async () => {
      await lab.startIn(id, "sh", "-c", "sleep 600; :", "hermes-channel");
      const rules = { maxAgeSeconds: 1 };
      expect(await reclaim(lab, Date.now() + 10 ** 10, rules)).toMatchObject([
        { action: "kept", reason: "it is in use" },
      ]);
    });
  });

  it("keeps the sandbox of a task for two weeks after it stopped, and reports the date", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { id, finishedAt } = await createStopped(lab);
    const end = finishedAt + 14 * dayMs;
    const date = new Date(end).toISOString().slice(0, 10);
    expect(await reclaim(lab, end - 1_000)).toMatchObject([
      { id, action: "kept", reason: expect.stringContaining(`kept until ${date}`) },
    ]);
    expect(await reclaim(lab, end + 1_000, { stoppedTtlSeconds: 0 })).toMatchObject([
      { id, action: "kept", reason: expect.stringContaining("kept forever") },
    ]);
    expect(await loadRecords(storeOf(lab))).toMatchObject([{ id, task: "default" }]);
    expect(await reclaim(lab, end + 1_000)).toMatchObject([
      { id, action: "removed", reason: expect.stringContaining("terminal.docker_stopped_ttl_seconds") },
    ]);
    expect(await loadRecords(storeOf(lab))).toEqual([]);
  });

  it("deletes the record of a sandbox that another program removed, but not in a dry run", LONG, async () => {
    await using lab = await openDockerLab(service);
    await lab.docker("rm", "-f", await create(lab));
    await reclaim(lab, Date.now(), { dryRun: true });
    expect(await loadRecords(storeOf(lab))).toHaveLength(1);
    await reclaim(lab, Date.now());
    expect(await loadRecords(storeOf(lab))).toEqual([]);
  });

  it("removes sandboxes of processes that have provably exited at once, and no others", LONG, async () => {
    await using lab = await openDockerLab(service);
    const spec = await lab.spec({ docker_persist_across_processes: false });
    const { id } = await ensureSandbox(lab.engine, spec, lab.reporter, neverAborted);
    const labels = await labelsOf(lab, id);
    const own = await readOwnIdentity(neverAborted);
    const dead = { ...own, startTime: "1" };
    const add = async (owner: string) =>
      lab.docker(
        "run",
        "-d",
        ...["--stop-signal", "KILL"], // its main process ignores TERM
        ...labels,
        "--label",
        `hermes-owner=${owner}`,
        service.images.busybox,
        "sleep",
        "600",
      );
    const abandoned = await add(serialiseIdentity(dead));
    const stopped = await add(serialiseIdentity(dead));
    await lab.docker("kill", stopped);
    const kept = [
      id,
      await add(serialiseIdentity({ ...dead, hostId: "another" })),
      await add(serialiseIdentity({ ...dead, pidNamespace: "another" })),
      await add("no identity"),
    ];
    const rows = await reclaim(lab, Date.now());
    const removed = rows.filter(({ action }) => action === "removed");
    expect(removed.map((row) => row.id).toSorted()).toEqual([abandoned, stopped].toSorted());
    expect(removed.map(({ reason }) => reason)).toEqual(
      Array(2).fill("the process that created it has exited"),
    );
    expect((await lab.containers()).toSorted()).toEqual(kept.toSorted());
  });

  it("C42: an engine that does not answer is a problem in the report, not an exception", LONG, async () => {
    await using lab = await openDockerLab(service);
    const rules = {
      profileId: "x",
      stores: [],
      lifetimeSeconds: 1,
      stoppedTtlSeconds: 1,
      idleTtlSeconds: 1,
      maxAgeSeconds: 1,
      dryRun: false,
      now: 0,
    };
    const report = await reclaimSandboxes(await lab.wrap("exit 1"), rules, neverAborted);
    expect(report).toEqual({ rows: [], problem: expect.stringContaining("cannot be reached") });
  });

  it("C43: continues when one of three sandboxes cannot be removed", LONG, async () => {
    await using lab = await openDockerLab(service);
    const ended = [await createOrphan(lab, "a"), await createOrphan(lab, "b"), await createOrphan(lab, "c")];
    const stuck = ended[1]?.id ?? "";
    const engine = await lab.wrap(`case "$*" in "rm "*${stuck}*) echo stuck >&2; exit 1;; esac`);
    const rows = await reclaim(lab, Date.now() + 10_000_000, {}, engine);
    expect(rows.filter(({ action }) => action === "removed")).toHaveLength(2);
    expect(rows.find(({ id }) => id === stuck)).toMatchObject({
      action: "failed",
      reason: expect.stringContaining("stuck"),
    });
    expect(await lab.containers()).toEqual([stuck]);
  });

  it("C45: does nothing when there are no sandboxes", LONG, async () => {
    await using lab = await openDockerLab(service);
    expect(await reclaim(lab, Date.now())).toEqual([]);
  });

  it(
    "C46: ignores containers of other profiles, unless all are requested, and of other programs",
    LONG,
    async () => {
      await using lab = await openDockerLab(service);
      await using other = await openDockerLab(service);
      const { id: theirs } = await createOrphan(other);
      const { id: mine, finishedAt } = await createOrphan(lab);
      const labels = ["--label", "hermes-agent=1", "--label", `hermes-profile-id=${lab.profileId}`];
      const foreign = await lab.docker("create", ...labels, service.images.busybox, "true");
      const everywhere = await reclaim(lab, Date.now(), { profileId: undefined, dryRun: true });
      expect(everywhere.map(({ id }) => id)).toEqual(expect.arrayContaining([mine, theirs]));
      const rows = await reclaim(lab, finishedAt + 10_000_000);
      expect(rows.map(({ id }) => id)).toEqual([mine]);
      expect(await stateOf(other, theirs)).toBe("exited");
      expect(await stateOf(lab, foreign)).toBe("created");
    },
  );

  it("a stopped sandbox that another process starts in between is not removed", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { id, finishedAt } = await createOrphan(lab);
    const racing = await lab.wrap(
      '[ "$1" = rm ] && real start $(echo "$@" | grep -o "[0-9a-f]\\{64\\}") > /dev/null',
    );
    expect(await reclaim(lab, finishedAt + 601_000, {}, racing)).toMatchObject([{ id, action: "failed" }]);
    expect(await stateOf(lab, id)).toBe("running");
  });

  it("C51: removes a container that was created and never started, by its age", LONG, async () => {
    await using lab = await openDockerLab(service);
    const running = await create(lab);
    const created = await lab.docker(
      "create",
      ...(await labelsOf(lab, running)),
      service.images.busybox,
      "true",
    );
    const createdAt = Date.parse(await lab.inspect(created, "{{.Created}}"));
    const early = await reclaim(lab, createdAt + 599_000);
    expect(early.find(({ id }) => id === created)).toMatchObject({ action: "kept" });
    const late = await reclaim(lab, createdAt + 601_000);
    expect(late.find(({ id }) => id === created)).toMatchObject({ action: "removed" });
    expect(await lab.containers()).toEqual([running]);
  });

  it("C37, C50: stops a running sandbox after the idle time, and removes it later", LONG, async () => {
    await using lab = await openDockerLab(service);
    const id = await create(lab);
    const startedAt = await startOf(lab, id);
    const dayLater = startedAt + DAY_SECONDS * 1_000;
    expect(await reclaim(lab, dayLater - 1_000)).toMatchObject([{ action: "kept" }]);
    expect(await reclaim(lab, dayLater + 1_000)).toMatchObject([{ action: "stopped" }]);
    expect(await stateOf(lab, id)).toBe("exited");
    expect(await lab.inspect(id, "{{.State.ExitCode}}")).toBe("0");
    expect(await reclaim(lab, Date.now() + 601_000)).toMatchObject([{ action: "kept" }]);
    expect(await reclaim(lab, Date.now() + 15 * dayMs)).toMatchObject([{ action: "removed" }]);
  });

  it("C50: the stamp of the last use counts, not the start time", LONG, async () => {
    await using lab = await openDockerLab(service);
    const id = await create(lab);
    const startedAt = await startOf(lab, id);
    const used = startedAt + 3_600_000;
    await lab.docker("exec", id, "touch", "-d", `@${Math.floor(used / 1_000)}`, "/tmp/.hermes-last-use");
    expect(await reclaim(lab, used + DAY_SECONDS * 1_000 - 2_000)).toMatchObject([{ action: "kept" }]);
    expect(await reclaim(lab, used + DAY_SECONDS * 1_000 + 2_000)).toMatchObject([{ action: "stopped" }]);
  });

  it(
    "C50: keeps an idle sandbox in which a process of the user runs, until its maximum age",
    LONG,
    async () => {
      await using lab = await openDockerLab(service);
      const id = await create(lab);
      await lab.startIn(id, "sleep", "12345");
      const later = Date.now() + 10 ** 10;
      expect(await reclaim(lab, later)).toMatchObject([
        { action: "kept", reason: expect.stringContaining("sleep 12345 runs in it") },
      ]);
      expect(await reclaim(lab, later, { maxAgeSeconds: 60 })).toMatchObject([{ action: "stopped" }]);
      expect(await stateOf(lab, id)).toBe("exited");
    },
  );

  it(
    "C13: removes a leftover running sandbox that another sandbox has replaced, but not at once",
    LONG,
    async () => {
      await using lab = await openDockerLab(service);
      const id = await create(lab);
      const now = Date.now();
      const { name } = await lab.spec();
      await lab.docker("rename", id, replacedName(name, now));
      expect(await reclaim(lab, now + 3_600_000)).toMatchObject([{ id, action: "kept" }]); // it has no successor
      await lab.docker(
        "run",
        "-d",
        ...(await labelsOf(lab, id)),
        "--name",
        name,
        service.images.busybox,
        "top",
      );
      const rowAt = async (at: number) => (await reclaim(lab, at)).find((row) => row.id === id);
      expect(await rowAt(now + 60_000)).toMatchObject({ action: "kept" });
      expect(await rowAt(now + 3_600_000)).toMatchObject({ action: "removed" });
      expect(await lab.containers()).toHaveLength(1);
    },
  );
});
