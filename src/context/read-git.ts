import { quoteWord } from "../environments/channel/quote.ts";
import type { Environment } from "../environments/environment.ts";
import { AppError } from "../lib/errors.ts";
import type { Reference } from "./find-references.ts";

const TIMEOUT_MS = 30_000;
const MAX_BYTES = 2 * 1024 * 1024;
/** Makes git print plain text and run none of the programs that a repository configures for its diffs. */
const GIT = "GIT_PAGER=cat GIT_OPTIONAL_LOCKS=0 git --no-pager -c color.ui=never -c core.fsmonitor=false";
const DIFF = "--no-ext-diff --no-textconv";

export interface GitParts {
  readonly environment: Environment;
  readonly folder: string;
  /** Whether a file, given by its path in the repository, may hold credentials. Its changes are omitted. */
  isSecret(path: string): boolean;
}

/** Runs git where the files are, and returns its output. */
export async function readGit(
  reference: Extract<Reference, { kind: "diff" | "staged" | "git" }>,
  { environment, folder, isSecret }: GitParts,
  signal: AbortSignal,
): Promise<string> {
  const run = async (command: string): Promise<{ readonly text: string; readonly omitted: number }> => {
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
    if (exitCode !== 0) {
      const [why = ""] = Buffer.concat(errors).toString("utf8").trim().split("\n");
      throw new AppError(
        "reference-refused",
        `${reference.source}: git failed with exit code ${exitCode}. ${why}`.trim(),
        { hint: `Check that ${folder} is in a git repository.` },
      );
    }
    return { text: Buffer.concat(chunks).toString("utf8"), omitted: Math.max(size - MAX_BYTES, 0) };
  };
  // The commits are named, because a log that excludes files would show earlier commits in their place.
  const commits =
    reference.kind === "git" ? (await run(`log -${reference.count} --format=%H`)).text.split("\n") : [];
  const [list, show] = {
    diff: ["diff --name-only", "diff"],
    staged: ["diff --staged --name-only", "diff --staged"],
    git: ["show --format= --name-only", "show --patch --stat"],
  }[reference.kind] as [string, string];
  const changed = await run(`${list} ${DIFF} --no-renames -z ${commits.join(" ")}`);
  if (changed.omitted > 0)
    throw new AppError("reference-refused", `${reference.source} changes too many files to check them.`);
  const secret = [...new Set(changed.text.split(/\0\n?/).filter((path) => path !== "" && isSecret(path)))];
  const paths = [":(top)", ...secret.map((path) => `:(top,exclude,literal)${path}`)];
  const { text, omitted } = await run(
    `${show} ${DIFF} ${commits.join(" ")} ${secret.length === 0 ? "" : `-- ${paths.map(quoteWord).join(" ")}`}`,
  );
  const notes = [
    ...(omitted > 0 ? [`[${omitted} more bytes]`] : []),
    ...(secret.length > 0 ? [`[not shown, because they may hold credentials: ${secret.join(", ")}]`] : []),
  ];
  return [text.trimEnd(), ...notes].filter((part) => part !== "").join("\n") || "[no changes]";
}
