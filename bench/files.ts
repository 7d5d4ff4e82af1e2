import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { forkSandbox } from "../src/environments/docker/restore/fork-sandbox.ts";
import { pruneImages } from "../src/environments/docker/snapshots/prune-snapshots.ts";
import type { Environment } from "../src/environments/environment.ts";
import { replaceText } from "../src/environments/files/edit/replace-text.ts";
import { createEnvironmentFiles } from "../src/environments/files/environment-files.ts";
import { neverAborted } from "../src/lib/time/never-aborted.ts";
import { type Bench, type Measurement, median, medians, milliseconds } from "./bench.ts";
import { type BenchSandbox, withSandbox } from "./sandbox.ts";

const ROUNDS = 25;
const FORKS = 5;
const EDITS = 5;
const EDITED_LINES = 250_000;
const BYTES = 1_000_000;
const FILE = "/workspace/measured";
/** Time in which an environment prepares for the next command, as it does while a model thinks. */
const PAUSE_MS = 250;

/** What reading and writing a file in a sandbox costs, compared with the bare transfer of its bytes. */
export const filesBench: Bench = {
  name: "files",
  run: () =>
    withSandbox(async (place) => {
      await using sandbox = place.open();
      return [await missedEdit(), ...(await measure(sandbox)), await forks(place)];
    }),
};

/** An edit of a large file whose old text does not occur in it: all ways to find it are tried, and a suggestion is made. */
async function missedEdit(): Promise<Measurement> {
  const line = (n: number): string => `  const value${n} = compute(${n}, "some text here"); // ok\n`;
  const content = Array.from({ length: EDITED_LINES }, (_, n) => line(n)).join("");
  const wanted = '  const value77 = computed(77, "some text here");\n';
  const found = await medians(
    EDITS,
    async () => void replaceText(content, wanted, "", { all: false }),
    async () => void content.split("\n").map((text) => text.trim().toLowerCase()),
  );
  return {
    name: `a missed edit of ${Math.round(content.length / 1e6)} MB ÷ splitting it into trimmed lines`,
    ours: milliseconds(found.ours),
    peer: milliseconds(found.peer),
    ratio: found.ours / found.peer,
    budget: { max: 40 },
  };
}

async function measure(environment: Environment): Promise<Measurement[]> {
  const session = environment.openSession();
  const files = createEnvironmentFiles(environment, session);
  const bytes = randomBytes(BYTES);
  const run = async (command: string, stdin?: Uint8Array): Promise<void> => {
    const { exitCode } = await environment.run(
      { command, session, stdin, timeoutMs: 30_000, onOutput: () => undefined },
      neverAborted,
    );
    if (exitCode !== 0) throw new Error(`${command} ended with ${exitCode}`);
  };
  const found = await inTurns({
    roundTrip: () => run("echo hi"),
    bareWrite: () => run("cat > /workspace/bare", bytes),
    write: () => expectKind(files.write(FILE, bytes, {}, neverAborted), "written"),
    bareRead: () => run("cat /workspace/bare"),
    read: () => expectKind(files.readBytes(FILE, 2 * BYTES, neverAborted), "bytes"),
  });
  const line = (name: string, ours: number, bare: number): Measurement => {
    const allowed = 3 * found.roundTrip + Math.max(0, bare - found.roundTrip);
    return {
      name,
      ours: milliseconds(ours),
      peer: milliseconds(allowed),
      ratio: ours / allowed,
      budget: { max: 1 },
    };
  };
  return [
    line("read 1 MB ÷ 3 round trips and its transfer", found.read, found.bareRead),
    line("write 1 MB ÷ 3 round trips and its transfer", found.write, found.bareWrite),
  ];
}

/** A fork of a sandbox, compared with the engine's own commands for it. */
async function forks({ engine, spec, specFor, folder, docker }: BenchSandbox): Promise<Measurement> {
  const reporter = { onNotice: () => undefined, onProgress: () => undefined };
  let round = 0;
  const made: string[] = [];
  const ours = async (): Promise<void> => {
    const copy = await specFor(`fork-${round++}`);
    made.push(copy.name);
    await forkSandbox(engine, { sandbox: spec }, copy, { now: Date.now(), reporter }, neverAborted);
  };
  const peer = (): void => {
    const name = `hermes-bench-peer-${process.pid}-${round++}`;
    made.push(name);
    docker("commit", spec.name, `${name}:bench`);
    docker("run", "-d", "--name", name, `${name}:bench`, "sleep", "1000");
  };
  try {
    const found = await medians(FORKS, ours, peer);
    return {
      name: "fork of a sandbox ÷ docker commit and docker run",
      ours: milliseconds(found.ours),
      peer: milliseconds(found.peer),
      ratio: found.ours / found.peer,
      budget: { max: 3 },
    };
  } finally {
    for (const name of made) docker("rm", "-f", name);
    for (const name of made.filter((one) => one.includes("peer"))) docker("rmi", `${name}:bench`);
    const place = { sandboxesFolder: folder, profileId: spec.profileId };
    await pruneImages(engine, place, { all: true, dryRun: false, now: Date.now() }, neverAborted);
  }
}

async function expectKind(result: Promise<{ readonly kind: string }>, kind: string): Promise<void> {
  const found = await result;
  if (found.kind !== kind) throw new Error(JSON.stringify(found));
}

/** Medians of several actions, measured alternately so that a slow phase of the machine affects all. */
async function inTurns<Name extends string>(
  actions: Readonly<Record<Name, () => Promise<void>>>,
): Promise<Record<Name, number>> {
  const names = Object.keys(actions) as Name[];
  const times = new Map(names.map((name) => [name, [] as number[]]));
  for (let round = 0; round < ROUNDS + 2; round++) {
    for (const name of names) {
      await sleep(PAUSE_MS);
      const started = performance.now();
      await actions[name]();
      if (round >= 2) times.get(name)?.push(performance.now() - started); // the first two rounds warm the caches
    }
  }
  return Object.fromEntries(names.map((name) => [name, median(times.get(name) ?? [])])) as Record<
    Name,
    number
  >;
}
