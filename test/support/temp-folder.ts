import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { requireLogsWithoutWarning } from "./node-warning.ts";

/** A new folder that is removed with its content at the end of the scope. */
export async function tempFolder(): Promise<AsyncDisposable & { path: string; file(name: string): string }> {
  const path = await mkdtemp(join(tmpdir(), "hermes-test-"));
  return {
    path,
    file: (name) => join(path, name),
    async [Symbol.asyncDispose]() {
      try {
        await requireLogsWithoutWarning(path);
      } finally {
        await rm(path, { recursive: true, force: true, maxRetries: 5 });
      }
    },
  };
}
