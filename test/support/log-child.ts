import { execFileSync } from "node:child_process";
import { writeSync } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";
import { openLog } from "../../src/lib/log/log.ts";
import { createRedactor } from "../../src/lib/redact/redactor.ts";

interface Writing {
  readonly folder: string;
  readonly writer: number;
  readonly lines: number;
  readonly secret: string;
  readonly maxSizeBytes: number;
  readonly backupCount: number;
}

/** Roles of other processes that write logs in tests; started by `startChild`. */
const ROLES = {
  /** Writes its lines, some of them as errors, and regularly reports how many have been written. */
  async write({ folder, writer, lines, secret, ...limits }: Writing) {
    const redactor = createRedactor({ secrets: [secret] });
    using log = await openLog({ folder, redactor, level: "info", component: `writer-${writer}`, ...limits });
    for (let number = 0; number < lines; number++) {
      const level = number % 10 === 0 ? "warn" : "info";
      log[level](`line with ${secret}`, { writer, number, padding: "x".repeat(number % 200) });
      if (number % 20 === 19) {
        print(number + 1);
        await turn(); // lets the rotation run
      }
    }
    print({ lost: log.lost });
  },

  /** Writes until its files reach a size limit, and once more after the limit was lifted. Linux only. */
  async "write-until-full"({ folder, maxSizeBytes, backupCount }: Writing) {
    const limitFiles = (size: string) =>
      execFileSync("prlimit", ["--pid", String(process.pid), `--fsize=${size}:unlimited`]);
    const redactor = createRedactor({ secrets: [] });
    const limits = { maxSizeBytes, backupCount };
    using log = await openLog({ folder, redactor, level: "info", component: "main", ...limits });
    limitFiles("4096");
    while (log.lost < 3) log.info("before", { padding: "x".repeat(100) });
    limitFiles("unlimited");
    log.info("after");
    log.info("later");
    print({ lost: log.lost });
  },
};

function print(report: unknown): void {
  writeSync(1, `${JSON.stringify(report)}\n`); // synchronous: some children are killed right afterwards
}

const [role = "", input = "{}"] = process.argv.slice(2);
await (ROLES as Record<string, (input: unknown) => Promise<void>>)[role]?.(JSON.parse(input));
