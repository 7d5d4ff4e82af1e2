import { writeSync } from "node:fs";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { type JobsTarget, openJobs } from "./jobs-lab.ts";

export interface StartInput {
  readonly target: JobsTarget;
  readonly path: string;
  readonly command: string;
}

/** Roles of other processes in the tests; started by `startChild`. */
const ROLES = {
  /** Starts a job, prints it and runs until it is killed. */
  async start({ target, path, command }: StartInput) {
    const { jobs, environment } = await openJobs(target, path);
    const session = environment.openSession();
    const lifetime = "persistent";
    print(await jobs.start(command, { session, owner: "a", lifetime, notify: true }, neverAborted));
    setInterval(() => undefined, 60_000);
  },
  /** Waits for a line on stdin, takes completions and prints their number. */
  async take({ target, path }: StartInput) {
    const { jobs } = await openJobs(target, path);
    await jobs.list(neverAborted);
    print("ready");
    await new Promise((resolve) => process.stdin.once("data", resolve));
    print((await jobs.takeCompletions("a", neverAborted)).length);
    process.exit();
  },
};

function print(report: unknown): void {
  writeSync(1, `${JSON.stringify(report)}\n`);
}

const [role = "", input = "{}"] = process.argv.slice(2);
await (ROLES as Record<string, (input: unknown) => Promise<void>>)[role]?.(JSON.parse(input));
