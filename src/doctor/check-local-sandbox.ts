import { inspectLocalSandbox } from "../app/environments/local-sandbox.ts";
import { type CheckInput, type Finding, finding, orFinding } from "./check.ts";

/** Checks whether local commands run in the sandbox or, if it is off, could. */
export function checkLocalSandbox({ app, cwd, signal }: CheckInput): Promise<Finding[]> {
  const { backend, local_sandbox: mode } = app.resolved.config.terminal;
  const isUsed = backend === "local" && mode !== "off";
  return orFinding("sandbox", isUsed ? "fail" : "note", async () => {
    const wanted = mode === "off" ? "workspace" : mode;
    const { problem } = await inspectLocalSandbox(app, { cwd: cwd(), mode: wanted }, signal);
    if (problem !== null)
      return [finding("sandbox", isUsed ? "fail" : "note", problem.message, problem.hint ?? "")];
    if (isUsed) return [finding("sandbox", "ok", `local commands run in the sandbox (${mode})`)];
    if (backend !== "local") return [finding("sandbox", "ok", "possible for local commands")];
    const detail = "off: local commands can read your credentials and change all of your files";
    return [finding("sandbox", "note", detail, "hermes config set terminal.local_sandbox workspace")];
  });
}
