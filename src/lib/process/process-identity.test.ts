import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { startChild } from "../../../test/support/child.ts";
import { neverAborted } from "../time/never-aborted.ts";
import { linuxHostId } from "./host-facts.ts";
import { parseProcStat } from "./proc.ts";
import {
  checkLiveness,
  findIdentity,
  type ProcessIdentity,
  parseIdentity,
  readOwnIdentity,
  serialiseIdentity,
} from "./process-identity.ts";
import { readProcessFromPs } from "./process-state.ts";

const CHILD = new URL("../../../test/support/storage-child.ts", import.meta.url);

test("a process is alive to itself and to others, with the same identity", async () => {
  await using child = startChild(CHILD, "identity", {});
  const theirs = await child.next<ProcessIdentity>();
  expect(await findIdentity(child.pid, neverAborted)).toEqual(theirs);
  expect(await checkLiveness(theirs, neverAborted)).toBe("alive");
  const own = await readOwnIdentity(neverAborted);
  expect(own).toMatchObject({ ...theirs, pid: process.pid, startTime: expect.any(String) });
  expect(await checkLiveness(own, neverAborted)).toBe("alive");
});

test("a killed process is dead and no longer has an identity", async () => {
  await using child = startChild(CHILD, "identity", {});
  const theirs = await child.next<ProcessIdentity>();
  await child.kill();
  expect(await checkLiveness(theirs, neverAborted)).toBe("dead");
  expect(await findIdentity(child.pid, neverAborted)).toBeUndefined();
});

test("a process whose pid was reused by another process is dead", async () => {
  const own = await readOwnIdentity(neverAborted);
  expect(await checkLiveness({ ...own, startTime: "1" }, neverAborted)).toBe("dead");
});

test("a process of an earlier boot of this machine is dead, whatever its pid namespace", async () => {
  const own = await readOwnIdentity(neverAborted);
  expect(await checkLiveness({ ...own, bootId: "earlier" }, neverAborted)).toBe("dead");
  expect(await checkLiveness({ ...own, bootId: "earlier", pidNamespace: "other" }, neverAborted)).toBe(
    "dead",
  );
});

test("a process of another machine or pid namespace is unknown, even if its pid is free here", async () => {
  const own = await readOwnIdentity(neverAborted);
  for (const other of [
    { hostId: "other" },
    { pidNamespace: "other" },
    { hostId: "other", bootId: "other" },
  ]) {
    expect(await checkLiveness({ ...own, ...other, pid: 2 ** 31 - 1 }, neverAborted)).toBe("unknown");
  }
});

test("an aborted query rejects with the reason", async () => {
  const reason = new Error("enough");
  const own = await readOwnIdentity(neverAborted);
  await expect(checkLiveness(own, AbortSignal.abort(reason))).rejects.toBe(reason);
  await expect(readOwnIdentity(AbortSignal.abort(reason))).rejects.toBe(reason);
});

describe.skipIf(process.platform !== "linux")("on Linux", () => {
  test("a zombie is dead", async () => {
    // The shell starts a child that exits at end of input, and then execs a program that never reaps the child.
    const parent = spawn("sh", ["-c", "exec 3<&0; cat <&3 & echo $!; exec sleep 1000"]);
    const exited = once(parent, "exit");
    try {
      const [line] = await once(createInterface({ input: parent.stdout }), "line");
      const zombie = await findIdentity(Number(line), neverAborted);
      if (zombie === undefined) throw new Error("the child does not exist");
      expect(await checkLiveness(zombie, neverAborted)).toBe("alive");
      parent.stdin.end();
      await expect.poll(() => checkLiveness(zombie, neverAborted), { timeout: 150_000 }).toBe("dead");
      expect(() => process.kill(zombie.pid, 0)).not.toThrow(); // the zombie still has its pid
    } finally {
      parent.kill("SIGKILL");
      await exited;
    }
  });

  test("a process in another pid namespace is unknown to this process, and this process to it", async ({
    skip,
  }) => {
    const wrap = ["unshare", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc"];
    const [program = "", ...args] = [...wrap, "true"];
    if (spawnSync(program, args).status !== 0) skip("pid namespaces are not allowed here");
    await using child = startChild(CHILD, "identity", {}, { wrap });
    const theirs = await child.next<ProcessIdentity>();
    expect(theirs.pid).toBe(1);
    expect(await checkLiveness(theirs, neverAborted)).toBe("unknown");
  });

  test("a process that /proc hides from us is unknown, not dead", async ({ skip }) => {
    const hide = 'mount -o remount,hidepid=2 /proc && "$@"; exit $?';
    const wrap = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", hide, "sh"];
    wrap.push("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups");
    const [program = "", ...args] = [
      ...wrap,
      process.execPath,
      "-e",
      "require('fs').readFileSync(process.argv[1])",
    ];
    const probe = spawnSync(program, [...args, CHILD.pathname]);
    if (probe.status !== 0) skip("needs root, and a checkout that others may read");
    await using child = startChild(CHILD, "liveness-of-first", {}, { wrap });
    expect(await child.next()).toBe("unknown");
  });

  test("ps gives the same start time for the same process again, and nothing for a process that has exited", async () => {
    await using child = startChild(CHILD, "identity", {});
    await child.next();
    const seen = await readProcessFromPs(child.pid, neverAborted);
    expect(seen).toEqual({ ended: false, startTime: expect.stringMatching(/^\w{3} \w{3} .*\d{4}$/) });
    expect(await readProcessFromPs(child.pid, neverAborted)).toEqual(seen);
    await child.kill();
    expect(await readProcessFromPs(child.pid, neverAborted)).toBeUndefined();
  });
});

test("a process cannot forge its start time through its name", () => {
  const rest = "S 1 1 1 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 777 0 0";
  for (const name of ["node", "a b", "x) Z 1 (y", ")", ""]) {
    expect(parseProcStat(`42 (${name}) ${rest}`)).toMatchObject({ startTime: "777", ended: false });
  }
  expect(parseProcStat(`42 (node) ${rest.replace("S", "Z")}`)?.ended).toBe(true);
  expect(parseProcStat("42 (node)")).toBeUndefined();
});

test("board G2: a machine keeps its id when it is renamed; two machines that run one image have different ids", () => {
  const machine = "pid:[4026531836]";
  const inner = "pid:[4026532201]";
  expect(linuxHostId("m", machine, "old")).toBe(linuxHostId("m", machine, "new"));
  expect(linuxHostId("m", machine, "a")).not.toBe(linuxHostId("n", machine, "a"));
  expect(linuxHostId("m", inner, "a")).not.toBe(linuxHostId("m", inner, "b"));
  expect(linuxHostId("m", inner, "a")).not.toBe(linuxHostId("m", machine, "a"));
  expect(linuxHostId(undefined, inner, "a")).not.toBe(linuxHostId(undefined, inner, "b"));
  expect(linuxHostId("m", machine, "a")).not.toContain("m");
});

const word = fc.string({ minLength: 1, maxLength: 200 });
const anyIdentity: fc.Arbitrary<ProcessIdentity> = fc.record(
  {
    hostId: word,
    bootId: word,
    pidNamespace: word,
    pid: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
    startTime: word,
  },
  { noNullPrototype: true },
);

test("an identity survives serialisation", () => {
  fc.assert(
    fc.property(anyIdentity, (identity) => {
      expect(parseIdentity(serialiseIdentity(identity))).toEqual(identity);
    }),
  );
});

test("any other text is parsed as undefined and never throws", () => {
  const anyKey = fc.constantFrom("hostId", "bootId", "pidNamespace", "pid", "startTime");
  const badValue = fc.oneof(
    fc.constantFrom(0, -1, 1.5, 2 ** 31, "", "x".repeat(201), null, true),
    fc.object(),
  );
  fc.assert(
    fc.property(anyIdentity, anyKey, badValue, (identity, key, value) => {
      expect(parseIdentity(JSON.stringify({ ...identity, [key]: value }))).toBeUndefined();
      expect(parseIdentity(JSON.stringify({ ...identity, more: value }))).toBeUndefined();
      expect(parseIdentity(JSON.stringify({ ...identity, [key]: undefined, more: 1 }))).toBeUndefined();
    }),
  );
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      expect(parseIdentity(text)).toBeUndefined();
    }),
  );
});
