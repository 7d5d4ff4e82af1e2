import { writeSync } from "node:fs";
import { openJobs, type PlaceOfJobs } from "./jobs.fixture.ts";

export interface StartInput {
  readonly place: PlaceOfJobs;
  readonly path: string;
  readonly command: string;
}

const never = new AbortController().signal;

/** What other processes do with jobs in the tests; started by `startChild`. */
const ROLES = {
  /** Starts a job, reports it and stays until it is killed. */
  async start({ place, path, command }: StartInput) {
    const { jobs, environment } = await openJobs(place, path);
    const session = environment.openSession();
    const lifetime = "persistent";
    say(await jobs.start(command, { session, owner: "a", lifetime, notify: true }, never));
    setInterval(() => undefined, 60_000);
  },
  /** Says how many completions it got when it was told to take them. */
  async take({ place, path }: StartInput) {
    const { jobs } = await openJobs(place, path);
    await jobs.list(never);
    say("ready");
    await new Promise((resolve) => process.stdin.once("data", resolve));
    say((await jobs.takeCompletions("a", never)).length);
    process.exit();
  },
};

function say(report: unknown): void {
  writeSync(1, `${JSON.stringify(report)}\n`);
}

const [role = "", input = "{}"] = process.argv.slice(2);
await (ROLES as Record<string, (input: unknown) => Promise<void>>)[role]?.(JSON.parse(input));
