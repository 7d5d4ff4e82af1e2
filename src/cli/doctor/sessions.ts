import { AppError } from "../../lib/errors.ts";
import { sizeOf } from "../../lib/files.ts";
import type { CheckInput, Finding } from "./check.ts";

const MB = 1_000_000;
const READ_WHOLE_BELOW = 300 * MB; // reading takes about a second for each 200 MB

export async function checkSessions({ app: { profile }, signal }: CheckInput): Promise<Finding[]> {
  const path = profile.sessionsPath;
  const bytes = await sizeOf(path);
  if (bytes === undefined) return [{ name: "sessions", status: "ok", detail: "none yet", fix: "" }];
  const size = `${(bytes / MB).toFixed(1)} MB`;
  try {
    const { openSessionStore } = await import("../../sessions/session-store.ts");
    using store = await openSessionStore(path, {}, signal);
    if (bytes > READ_WHOLE_BELOW) {
      const detail = `${path} opens; at ${size} it is too large to be read through here`;
      return [{ name: "sessions", status: "ok", detail, fix: "" }];
    }
    const findings = await store.checkIntegrity();
    if (findings.length === 0) return [{ name: "sessions", status: "ok", detail: `sound, ${size}`, fix: "" }];
    const index = findings.every((finding) => finding.includes("fts5"));
    return findings.slice(0, 3).map((finding) => ({
      name: "sessions",
      status: index ? "warn" : "fail",
      detail: finding,
      fix: index
        ? "Only the search index is damaged: `hermes sessions search --rebuild` makes it anew."
        : `Restore ${path} from a backup, or move it aside.`,
    }));
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return [{ name: "sessions", status: "fail", detail: error.message, fix: error.hint }];
  }
}
