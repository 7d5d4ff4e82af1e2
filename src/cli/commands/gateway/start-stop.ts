import { spawn } from "node:child_process";
import type { App } from "../../../app/app.ts";
import { type GatewayRecords, openGatewayRecords } from "../../../app/server/gateway-status.ts";
import { AppError, errnoOf } from "../../../lib/errors.ts";
import type { ProcessIdentity } from "../../../lib/process/process-identity.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import type { CommandContext } from "../../context.ts";
import { requirePerson } from "../../require-person.ts";
import { startApp } from "../../start-app.ts";

const POLL_MS = 100;
const START_WITHIN_MS = 30_000;
/** Added to the time that running turns get. */
const STOP_GRACE_MS = 30_000;

export async function startGateway(context: CommandContext): Promise<void> {
  requirePerson(context);
  const app = await startApp(context);
  using records = await openGatewayRecords(app, context.signal);
  const holder = await records.findHolder(context.signal);
  if (holder !== undefined)
    throw new AppError("gateway-running", `The gateway is already running as process ${holder.pid}.`);
  await launch(context, app, records);
}

export async function stopGateway(context: CommandContext): Promise<void> {
  requirePerson(context);
  const app = await startApp(context);
  using records = await openGatewayRecords(app, context.signal);
  const holder = await requireHolder(records, context.signal);
  await records.state.setDesired("stopped", context.signal);
  await end(context, app, records, holder, "SIGTERM");
  context.terminal.note("The gateway has stopped.");
}

export async function restartGateway(context: CommandContext): Promise<void> {
  requirePerson(context);
  const { terminal, signal } = context;
  const app = await startApp(context);
  using records = await openGatewayRecords(app, signal);
  const holder = await requireHolder(records, signal);
  const { isBackground } = records.state.read();
  await records.state.setDesired("running", signal);
  await end(context, app, records, holder, "SIGUSR1");
  if (isBackground) return await launch(context, app, records);
  terminal.note(
    "The gateway has ended with exit code 75, and its supervisor starts it again. Without one, run `hermes gateway start`.",
  );
}

async function requireHolder(records: GatewayRecords, signal: AbortSignal): Promise<ProcessIdentity> {
  const holder = await records.findHolder(signal);
  if (holder === undefined) throw new AppError("gateway-stopped", "No gateway of this profile runs.");
  return holder;
}

/** Starts a gateway in its own process session, and waits until it is running. */
async function launch(
  { terminal, flags, signal }: CommandContext,
  app: App,
  records: GatewayRecords,
): Promise<void> {
  await records.state.setDesired("running", signal);
  const program = process.argv[1] ?? "";
  const child = spawn(
    process.execPath,
    [
      ...process.execArgv,
      program,
      "-p",
      app.profile.name,
      ...settingFlags(flags.settings),
      "gateway",
      "run",
      "--background",
    ],
    { detached: true, stdio: "ignore", env: { ...app.variables } },
  );
  let exitCode: number | null | undefined;
  child.once("exit", (code) => {
    exitCode = code;
  });
  child.once("error", () => {
    exitCode = null;
  });
  child.unref();
  const until = performance.now() + START_WITHIN_MS;
  while (performance.now() < until && exitCode === undefined) {
    const holder = await records.findHolder(signal);
    if (holder !== undefined && holder.pid === child.pid && records.state.read().phase === "running") {
      terminal.note(`The gateway runs as process ${holder.pid}.`);
      return;
    }
    await systemClock.sleep(POLL_MS, signal);
  }
  throw new AppError(
    "gateway-unstarted",
    exitCode === undefined
      ? "The gateway did not start in time."
      : `The gateway ended immediately (exit code ${exitCode}).`,
  );
}

function settingFlags(settings: ReadonlyMap<string, string>): string[] {
  return [...settings].flatMap(([key, value]) => [`--${key}`, value]);
}

/** Sends a signal to the gateway, and waits until its lease is free. */
async function end(
  { signal }: CommandContext,
  { resolved }: App,
  records: GatewayRecords,
  { pid }: ProcessIdentity,
  name: NodeJS.Signals,
): Promise<void> {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (errnoOf(error) !== "ESRCH")
      throw new AppError("gateway-running", `Process ${pid} belongs to another user.`, { cause: error });
  }
  const until = performance.now() + resolved.config.gateway.drain_timeout_seconds * 1_000 + STOP_GRACE_MS;
  while ((await records.findHolder(signal)) !== undefined) {
    if (performance.now() > until)
      throw new AppError("gateway-running", `The gateway (process ${pid}) has not ended in time.`);
    await systemClock.sleep(POLL_MS, signal);
  }
}
