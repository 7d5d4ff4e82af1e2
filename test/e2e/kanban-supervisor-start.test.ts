import { resolve } from "node:path";
import { expect, test } from "vitest";
import { startSupervisor } from "../../src/board/supervisor/start-supervisor.ts";
import type { RunOrder } from "../../src/board/worker/run-order.ts";
import { tempFolder } from "../support/temp-folder.ts";

const program = [process.execPath, resolve("dist/main.cjs")] as const;

test.each([
  ["an unreachable server", "postgres://nobody@127.0.0.1:1/none", "infrastructure"],
  ["a board that does not exist", "", "spawn"],
])(
  "board G15: %s at the start of a supervisor is a distinct kind of failure, and no process remains",
  async (_, databaseUrl, cause) => {
    await using folder = await tempFolder();
    const order: RunOrder = {
      location: { root: folder.path, databaseUrl, slug: "default" },
      board: "0b",
      run: {
        taskId: "t_1",
        runId: 1,
        profile: "default",
        token: "x",
        leaseMs: 60_000,
        maxRuntimeSeconds: null,
      },
      worker: { argv: ["/bin/false"], env: {}, cwd: folder.path },
      log: { path: folder.file("logs/run.log"), maxBytes: 1_000_000, backups: 1 },
      policy: { failureLimit: 2, failureRetryMs: 1_000, rateLimitCooldownMs: 1_000 },
    };
    const variables = { PATH: process.env["PATH"] ?? "", HOME: folder.path, HERMES_HOME: folder.path };
    const started = await startSupervisor(program, order, variables, new AbortController().signal);
    expect(started).toMatchObject({ kind: "failed", cause, error: expect.stringMatching(/\S/) });
  },
);
