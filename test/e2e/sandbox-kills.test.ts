import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test, vi } from "vitest";
import { readTextFile } from "../../src/lib/files/files.ts";
import { tempHome } from "../support/hermes.ts";
import { expectConsistent, inspectProfile } from "../support/sandbox-order.ts";
import { scale } from "../support/scale.ts";
import { describeWith, pathOf, type RunningPart } from "../support/services.ts";

vi.setConfig({ testTimeout: 6 * 3_600_000 }); // hundreds of runs of the program in the deep lane

const run = promisify(execFile);
const SEED = 20_261_116;
const MARKS = "cat /etc/mark 2>/dev/null || echo none; cat /workspace/mark";
const REPLACE = { TERMINAL_DOCKER_ON_DRIFT: "replace" };
const SHORT_TTL = { TERMINAL_DOCKER_STOPPED_TTL_SECONDS: "1" };

/** A profile with a sandbox in which each round leaves a mark, in the container and among the kept files. */
async function openWorld(service: RunningPart<"docker">) {
  const home = await tempHome();
  let profile = "one";
  const base = {
    PATH: pathOf(service.client),
    DOCKER_HOST: service.host,
    TERMINAL_ENV: "docker",
    TERMINAL_DOCKER_IMAGE: service.images.busybox,
    TERMINAL_DOCKER_NETWORK: "off",
    TERMINAL_CONTAINER_DISK: "0",
    TERMINAL_DOCKER_ORPHAN_REAPER: "off",
  };
  const docker = async (...args: readonly string[]) =>
    (await run(service.client, args, { env: { ...process.env, DOCKER_HOST: service.host } })).stdout.trim();
  const start = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    home.start(args, { env: { ...base, ...env } });
  const hermes = async (args: readonly string[], env?: Readonly<Record<string, string>>) => {
    const end = await home.hermes(args, { env: { ...base, ...env } });
    expect(end, `${args.join(" ")}: ${end.stderr}`).toMatchObject({ exitCode: 0 });
    return end;
  };
  const sandbox = (...args: readonly string[]) => hermes(["-p", profile, "sandbox", ...args]);
  const folder = () => join(home.path, "profiles", profile, "sandboxes");
  await hermes(["profile", "create", profile]);
  await sandbox("exec", "--", "true");
  const profileId = (await readTextFile(join(home.path, "profiles", profile, "profile-id")))?.trim() ?? "";
  const label = `label=hermes-profile-id=${profileId}`;
  return {
    docker,
    start,
    hermes,
    sandbox,
    profiles: join(home.path, "profiles"),
    label,
    get profile() {
      return profile;
    },
    set profile(name) {
      profile = name;
    },
    async mark(word: string) {
      await sandbox("exec", "--", `echo ${word} > /etc/mark; echo ${word} > /workspace/mark`);
    },
    /** The two marks of a task's sandbox, as the next command finds them. */
    async marks(task = "default") {
      return (await sandbox("exec", "--task", task, "--", MARKS)).stdout.trim().split("\n");
    },
    order: async () => {
      await sandbox("gc");
      const left = await inspectProfile({ docker }, { sandboxes: folder(), profileId });
      expectConsistent(left);
      return left;
    },
    async [Symbol.asyncDispose]() {
      const ids = (await docker("ps", "-aq", "--filter", label)).split("\n").filter((id) => id !== "");
      if (ids.length > 0) await docker("rm", "-f", "-v", ...ids);
      const tags = await docker("images", "--filter", label, "--format", "{{.Repository}}:{{.Tag}}");
      for (const tag of tags.split("\n").filter((one) => one !== "")) await docker("rmi", "-f", tag);
      await home[Symbol.asyncDispose]();
    },
  };
}

type World = Awaited<ReturnType<typeof openWorld>>;

/** An operation that is killed, its preparation, and what must hold after the next command. */
interface Operation {
  prepare(world: World, round: string): Promise<void>;
  readonly args: (world: World) => readonly string[];
  readonly env?: (turn: number) => Readonly<Record<string, string>>;
  check(world: World, round: string): Promise<void>;
}

const ofProfile =
  (...args: readonly string[]) =>
  ({ profile }: World) => ["-p", profile, "sandbox", ...args];
const bothOrNone = async (world: World, round: string) => {
  const [system, work] = await world.marks();
  expect(work).toBe(round);
  expect([round, "none"]).toContain(system);
};
const untouched = async (world: World, round: string) => expect(await world.marks()).toEqual([round, round]);

const OPERATIONS: Readonly<Record<string, Operation>> = {
  restore: {
    async prepare(world, round) {
      const kept = (await world.sandbox("snapshots", "--json")).json<{ name: string }[]>();
      if (!kept.some(({ name }) => name === "kept")) {
        await world.mark("old");
        await world.sandbox("snapshot", "--name", "kept");
      }
      await world.mark(round);
    },
    args: ofProfile("restore", "kept", "--yes"),
    async check(world, round) {
      const marks = await world.marks();
      expect([
        [round, round],
        ["old", "old"],
      ]).toContainEqual(marks);
    },
  },
  replace: {
    prepare: (world, round) => world.mark(round),
    args: ofProfile("exec", "--", "true"),
    env: (turn) => ({ ...REPLACE, TERMINAL_CONTAINER_MEMORY: String(300 + turn) }),
    check: bothOrNone,
  },
  create: {
    async prepare(world, round) {
      await world.mark(round);
      await world.sandbox("rm", "--force");
    },
    args: ofProfile("exec", "--", "true"),
    check: async (world, round) => expect(await world.marks()).toEqual(["none", round]),
  },
  snapshot: {
    prepare: (world, round) => world.mark(round),
    args: ofProfile("snapshot"),
    async check(world, round) {
      await untouched(world, round);
      const rows = (await world.sandbox("snapshots", "--json")).json<{ state: string }[]>();
      expect(rows.filter(({ state }) => state !== "whole")).toEqual([]);
    },
  },
  fork: {
    async prepare(world, round) {
      await world.mark(round);
      await world.sandbox("exec", "--task", "copy", "--", `echo earlier-${round} > /workspace/mark`);
      await world.sandbox("rm", "--task", "copy", "--force");
    },
    args: ofProfile("fork", "copy"),
    async check(world, round) {
      const copy = await world.marks("copy");
      expect([
        [round, round],
        ["none", `earlier-${round}`],
      ]).toContainEqual(copy);
      await untouched(world, round);
    },
  },
  stop: {
    prepare: (world, round) => world.mark(round),
    args: ofProfile("stop"),
    check: untouched,
  },
  rm: {
    prepare: (world, round) => world.mark(round),
    args: ofProfile("rm"),
    check: bothOrNone,
  },
  gc: {
    async prepare(world, round) {
      await world.mark(round);
      await world.sandbox("exec", "--task", "spare", "--", "true");
      await world.sandbox("stop", "--task", "spare");
    },
    args: ofProfile("gc"),
    env: () => SHORT_TTL,
    check: untouched,
  },
  "profile rename": {
    prepare: (world, round) => world.mark(round),
    args: ({ profile }) => ["profile", "rename", profile, otherName(profile)],
    async check(world, round) {
      const next = otherName(world.profile);
      // Only a started rename can be finished; a finished one must not be repeated.
      const names = (await world.hermes(["profile", "list", "--json"])).json<{ name: string }[]>();
      const isPending = (await readdir(world.profiles)).includes(".renaming.json");
      if (isPending || names.some(({ name }) => name === world.profile))
        await world.hermes(["profile", "rename", world.profile, next]);
      world.profile = next;
      const id = await world.docker("ps", "-q", "--filter", world.label);
      await world.docker("stop", "-t", "0", id); // its mounts are resolved when it starts again
      await untouched(world, round);
    },
  },
};

/** The operations that this lane tests, each with its share of the kills. */
const SHARES = Object.entries(OPERATIONS).flatMap(([name, operation], index, all) => {
  const kills = Math.floor((scale.sandboxKills + all.length - 1 - index) / all.length);
  return kills === 0 ? [] : [{ name, operation, kills }];
});

describeWith("docker", "a kill at a random time", (service) => {
  test.concurrent.each(SHARES)(
    "of $name leaves the files in place, one container per task, and no unfinished work",
    async ({ name, operation, kills }) => {
      await using world = await openWorld(service);
      const random = createRandom(SEED + name.length);
      // Measure how long the operation takes on this machine, so that kills hit all of its steps.
      await operation.prepare(world, "first");
      const startedAt = performance.now();
      const whole = await world.start(operation.args(world), operation.env?.(0)).ended;
      const wholeMs = performance.now() - startedAt;
      expect(whole.exitCode, whole.stderr).toBe(0);
      await operation.check(world, name === "restore" ? "old" : "first");
      for (let turn = 1; turn <= kills; turn++) {
        const round = `round${turn}`;
        await operation.prepare(world, round);
        const { child, ended } = world.start(operation.args(world), operation.env?.(turn));
        const afterMs = random() * wholeMs;
        const timer = setTimeout(() => child.kill("SIGKILL"), afterMs);
        await ended;
        clearTimeout(timer);
        try {
          await operation.check(world, round);
          await world.order();
        } catch (error) {
          const moment = `after ${Math.round(afterMs)} of ${Math.round(wholeMs)} ms`;
          throw new Error(`${name}, ${round}, killed ${moment}`, { cause: error });
        }
      }
    },
  );
});

function otherName(name: string): string {
  return name === "one" ? "other" : "one";
}

/** The same random numbers in every run. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
