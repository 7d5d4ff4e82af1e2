import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { quoteWord } from "../channel/quote.ts";
import { collect } from "../environment.contract.ts";
import { SIGNAL } from "./job-programs.ts";
import { jobsContract, processesOf } from "./jobs.contract.ts";
import { openJobs } from "./jobs.fixture.ts";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "hermes-jobs-")));

const place = { kind: "local", folder } as const;
afterAll(() => rmSync(folder, { recursive: true, force: true }));

jobsContract({ name: "local", shell: "bash", place: async () => place });

const never = new AbortController().signal;

async function begin(opened: Awaited<ReturnType<typeof openJobs>>, command: string, takesInput = false) {
  const session = opened.environment.openSession();
  const options = { session, owner: "a", lifetime: "session", takesInput } as const;
  const started = await opened.jobs.start(command, options, never);
  if (started.kind !== "started") throw new Error(started.message);
  return started.job;
}

test("F45: a job whose own shell cannot be started has failed, in the system's own words", async () => {
  await using opened = await openJobs(place, join(folder, "unstarted.sqlite"));
  const tools = join(folder, "tools");
  mkdirSync(tools);
  const setsid = `#!/bin/sh\n[ "$1" != bash ] || { echo cannot fork >&2; exit 1; }\nexec "$REAL" "$@"\n`;
  writeFileSync(join(tools, "setsid"), setsid, { mode: 0o755 });
  const real = (await collect(opened.environment, "command -v setsid")).stdout.trim();
  const session = opened.environment.openSession();
  const variables = { PATH: `${tools}:${process.env["PATH"]}`, REAL: real };
  const options = { session, owner: "a", lifetime: "session", variables } as const;
  const started = await opened.jobs.start("echo x", options, never);
  expect(started).toEqual({ kind: "failed-start", message: "cannot fork" });
  expect(await opened.jobs.list(never)).toMatchObject([{ state: "ended", reason: "failed_start" }]);
});

test("an environment that does not answer is told as such, and the job is still taken to run", async () => {
  let isLost = false;
  await using opened = await openJobs(place, join(folder, "lost.sqlite"), async (_, run) =>
    isLost ? { ...(await run()), ended: "lost" } : run(),
  );
  const job = await begin(opened, "sleep 600");
  isLost = true;
  await expect(opened.jobs.poll(job.id, never)).rejects.toMatchObject({ code: "job-unreachable" });
  isLost = false;
  expect((await opened.jobs.poll(job.id, never)).job.state).toBe("running");
  await opened.jobs.kill(job.id, never);
});

test("a write to a job that does not read is told, and the job can still be ended", async () => {
  await using opened = await openJobs(place, join(folder, "blocked.sqlite"));
  const job = await begin(opened, "sleep 600", true);
  expect(await opened.jobs.write(job.id, "x".repeat(200_000), never)).toBe("blocked");
  expect(await opened.jobs.kill(job.id, never)).toMatchObject({ kind: "killed", survivors: [] });
  expect(await processesOf(opened.environment, job.id)).toBe("");
});

test("F49: what could not be ended is reported and stays listed until it is gone, and then it was killed", async () => {
  let isDeaf = true;
  const signalling = quoteWord(SIGNAL);
  await using opened = await openJobs(place, join(folder, "survivor.sqlite"), (request, run) =>
    isDeaf && request.command.includes(signalling)
      ? opened.environment.run({ ...request, command: "true" }, never)
      : run(),
  );
  const job = await begin(opened, "sh -c 'echo $$; exec sleep 600'; exit 7");
  const printed = async () => (await opened.jobs.poll(job.id, never)).preview;
  await expect.poll(printed).toMatch(/^\d+\n$/);
  const outcome = await opened.jobs.kill(job.id, never);
  expect(outcome).toMatchObject({ kind: "survived", job: { state: "running" } });
  expect(outcome.survivors.map(({ pid }) => pid)).toContain(job.process?.pid);
  process.kill(Number(await printed()), "SIGKILL"); // so that the job itself exits with 7
  isDeaf = false;
  const { job: over } = await opened.jobs.wait(job.id, 150_000, never);
  expect(over).toMatchObject({ state: "ended", reason: "killed", exitCode: -15 });
});
