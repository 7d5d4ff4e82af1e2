import type { Environment } from "../environments/environment.ts";
import { AppError } from "../lib/errors.ts";
import type { Reference } from "./find-references.ts";

const TIMEOUT_MS = 30_000;
const MAX_BYTES = 2 * 1024 * 1024;
/** Plain text, and no program that a repository configures for its diffs. */
const GIT = "GIT_PAGER=cat GIT_OPTIONAL_LOCKS=0 git --no-pager -c color.ui=never -c core.fsmonitor=false";
const DIFF = "--no-ext-diff --no-textconv";

/** Runs git where the files are, and returns its output. */
export async function readGit(
  environment: Environment,
  folder: string,
  reference: Extract<Reference, { kind: "diff" | "staged" | "git" }>,
  signal: AbortSignal,
): Promise<string> {
  const command = {
    diff: () => `diff ${DIFF}`,
    staged: () => `diff --staged ${DIFF}`,
    git: () => `log --patch --stat ${DIFF} -${reference.kind === "git" ? reference.count : 1}`,
  }[reference.kind]();
  const chunks: Buffer[] = [];
  const errors: Buffer[] = [];
  let size = 0;
  const { exitCode } = await environment.run(
    {
      command: `${GIT} ${command}`,
      session: environment.openSession(),
      workdir: folder,
      timeoutMs: TIMEOUT_MS,
      onOutput(stream, bytes) {
        const kept = Buffer.from(bytes).subarray(0, Math.max(MAX_BYTES - size, 0));
        size += bytes.length;
        (stream === "stdout" ? chunks : errors).push(kept);
      },
    },
    signal,
  );
  const text = Buffer.concat(chunks).toString("utf8").trimEnd();
  if (exitCode !== 0) {
    const [why = ""] = Buffer.concat(errors).toString("utf8").trim().split("\n");
    throw new AppError(
      "reference-refused",
      `${reference.source}: git failed with exit code ${exitCode}. ${why}`.trim(),
      {
        hint: `Check that ${folder} is in a git repository.`,
      },
    );
  }
  if (size > MAX_BYTES) return `${text}\n[${size - MAX_BYTES} more bytes]`;
  return text === "" ? "[no changes]" : text;
}
