import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { openJobs } from "../../../test/support/jobs-lab.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { quoteWord } from "../channel/quote.ts";
import { collect } from "../environment.contract.ts";
import { SIGNAL } from "./job-programs.ts";
import { jobsContract, processesOf } from "./jobs.contract.ts";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "hermes-jobs-")));

const target = { kind: "local", folder } as const;
afterAll(() => rmSync(folder, { recursive: true, force: true }));

jobsContract({ name: "local", shell: "bash", target: async () => target });

async function startJob(opened: Awaited<ReturnType<typeof openJobs>>, command: string, takesInput = false) {
  const session = opened.environment.openSession();
  const options = { session, owner: "a", lifetime: "session", takesInput } as const;
  const started = await opened.jobs.start(command, options, neverAborted);
  if (started.kind !== "started") throw new Error(started.message);
  return started.job;
}

test("F45: a job whose shell cannot be started fails with the system's error message", async () => {
  await using opened = await openJobs(target, join(folder, "unstarted.sqlite"));
  const tools = join(folder, "tools");
  mkdirSync(tools);
  const setsid = `#!/bin/sh\n[ "$1" != bash ] || { echo cannot fork >&2; exit 1; }\nexec "$REAL" "$@"\n`;
  writeFileSync(join(tools, "setsid"), setsid, { mode: 0o755 });
  const real = (await collect(opened.environment, "command -v setsid")).stdout.trim();
  const session = opened.environment.openSession();
  const variables = { PATH: `${tools}:${process.env["PATH"]}`, REAL: real };
  const options = { session, owner: "a", lifetime: "session", variables } as const;
  const started = await opened.jobs.start("echo x", options, neverAborted);
  expect(started).toEqual({ kind: "failed-start", message: "cannot fork" });
  expect(await opened.jobs.list(neverAborted)).toMatchObject([{ state: "ended", reason: "failed_start" }]);
});

test("an environment that does not answer is reported, and the job still counts as running", async () => {
  let isLost = false;
  await using opened = await openJobs(target, join(folder, "lost.sqlite"), async (_, run) =>
    isLost ? { ...(await run()), ended: "lost" } : run(),
  );
  const job = await startJob(opened, "sleep 600");
  isLost = true;
  await expect(opened.jobs.poll(job.id, neverAborted)).rejects.toMatchObject({ code: "job-unreachable" });
  isLost = false;
  expect((await opened.jobs.poll(job.id, neverAborted)).job.state).toBe("running");
  await opened.jobs.kill(job.id, neverAborted);
});

test("a write to a job that does not read is reported as blocked, and the job can still be killed", async () => {
  await using opened = await openJobs(target, join(folder, "blocked.sqlite"));
  const job = await startJob(opened, "sleep 600", true);
  expect(await opened.jobs.write(job.id, "x".repeat(200_000), neverAborted)).toBe("blocked");
  expect(await opened.jobs.kill(job.id, neverAborted)).toMatchObject({ kind: "killed", survivors: [] });
  expect(await processesOf(opened.environment, job.id)).toBe("");
});

test("F49: survivors of a kill are reported and keep the job listed until they exit; then it counts as killed", async () => {
  let ignoresSignals = true;
  const signalling = quoteWord(SIGNAL);
  await using opened = await openJobs(target, join(folder, "survivor.sqlite"), (request, run) =>
    ignoresSignals && request.command.includes(signalling)
      ? opened.environment.run({ ...request, command: "true" }, neverAborted)
      : run(),
  );
  const job = await startJob(opened, "sh -c 'echo $$; exec sleep 600'; exit 7");
  const printed = async () => (await opened.jobs.poll(job.id, neverAborted)).preview;
  await expect.poll(printed).toMatch(/^\d+\n$/);
  const outcome = await opened.jobs.kill(job.id, neverAborted);
  expect(outcome).toMatchObject({ kind: "survived", job: { state: "running" } });
  expect(outcome.survivors.map(({ pid }) => pid)).toContain(job.process?.pid);
  process.kill(Number(await printed()), "SIGKILL"); // so that the job itself exits with 7
  ignoresSignals = false;
  const { job: ended } = await opened.jobs.wait(job.id, 150_000, neverAborted);
  expect(ended).toMatchObject({ state: "ended", reason: "killed", exitCode: -15 });
});
