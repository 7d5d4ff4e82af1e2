import { openGatewayRecords } from "../../../app/server/gateway-status.ts";
import { listReadiness } from "../../../gateway/platforms/configured-platforms.ts";
import { GATEWAY_LEASE_MS } from "../../../gateway/runner/gateway-lease.ts";
import type { GatewayRecord, PlatformRecord } from "../../../gateway/runner/gateway-state.ts";
import { formatDuration, formatTime } from "../../../lib/time/format-time.ts";
import type { CommandContext, JsonOption } from "../../context.ts";
import { startApp } from "../../start-app.ts";
import { escapeControls } from "../../terminal/escape-controls.ts";
import { printFields, renderTable } from "../../terminal/table.ts";

export async function showStatus(context: CommandContext, { json = false }: JsonOption): Promise<void> {
  const { terminal, signal } = context;
  const app = await startApp(context);
  using records = await openGatewayRecords(app, signal);
  const holder = await records.findHolder(signal);
  const state = records.state.read();
  const attentionMs = app.resolved.config.gateway.reconnect_attention_seconds * 1_000;
  const now = Date.now();
  const platforms =
    holder === undefined ? [] : records.state.platforms().map((one) => describe(one, now, attentionMs));
  const inbox = records.inbox.counts();
  const lastSeen = records.lastSeen();
  const silentMs = holder === undefined || lastSeen === undefined ? 0 : now - lastSeen;
  const writeProblem = await records.findWriteProblem();
  const open = records.outbox.counts().filter(({ state: name }) => name !== "sent");
  if (json)
    return terminal.printJson({
      isRunning: holder !== undefined,
      pid: holder?.pid ?? null,
      ...state,
      lastSeen: lastSeen ?? null,
      writeProblem: writeProblem ?? null,
      platforms,
      inbox,
      outbox: open,
    });
  printFields(terminal, [
    [
      "gateway",
      holder === undefined
        ? "not running"
        : `${state.phase}, process ${holder.pid}, since ${formatTime(state.changedAt)}${silentMs < GATEWAY_LEASE_MS ? "" : `; no sign of life for ${formatDuration(silentMs)}`}`,
    ],
    ["wanted", describeWanted(state, holder !== undefined)],
    ["storage", writeProblem === undefined ? "" : `cannot be written (${writeProblem}); messages wait`],
    ["ended", holder === undefined ? describeEnd(state, lastSeen) : ""],
    ["dispatcher", holder !== undefined && state.hostsDispatcher ? "runs here" : ""],
    ["waiting", String((inbox.stored ?? 0) + (inbox.waiting ?? 0) + (inbox.running ?? 0))],
    ["unsent", open.map(({ platform, state: name, count }) => `${count} ${name} on ${platform}`).join(", ")],
  ]);
  if (platforms.length > 0)
    terminal.print(
      renderTable(
        ["platform", "state", "heard", "why"],
        platforms.map(({ name, state: link, heardAgoMs, needsAttention, reason }) => [
          name,
          needsAttention ? `${link}, needs attention` : link,
          heardAgoMs === undefined ? "never" : `${formatDuration(heardAgoMs)} ago`,
          escapeControls(reason ?? ""),
        ]),
        terminal,
      ),
    );
  const incomplete = listReadiness(app.resolved.config.platforms).filter(
    ({ isOn, missing }) => isOn && missing.length > 0,
  );
  for (const { label, missing } of incomplete)
    terminal.note(`hermes: ${label} is enabled, and these settings are not set: ${missing.join(", ")}.`);
}

/** The desired state and, if the gateway should run and does not, how to start it. */
function describeWanted({ desired, changedAt }: GatewayRecord, isRunning: boolean): string {
  if (isRunning || desired === "stopped") return desired;
  const how = "start it with `hermes gateway start`, or here with `hermes gateway run`";
  return changedAt === 0 ? `it has not been started yet; ${how}` : `running, but it has ended; ${how}`;
}

/** How the last gateway ended; a killed one left no reason. */
function describeEnd({ exitReason, changedAt, phase }: GatewayRecord, lastSeen: number | undefined): string {
  if (exitReason !== undefined) return `${formatTime(changedAt)} (${exitReason})`;
  if (phase === "stopped" || lastSeen === undefined) return "";
  return `unexpectedly; the last sign of life was at ${formatTime(lastSeen)}`;
}

function describe({ heardAt, since, ...record }: PlatformRecord, now: number, attentionMs: number) {
  const isLong = record.state === "retrying" && attentionMs > 0 && now - (heardAt ?? since) > attentionMs;
  return {
    ...record,
    since,
    heardAgoMs: heardAt === undefined ? undefined : Math.max(0, now - heardAt),
    needsAttention: record.state === "failed" || isLong,
  };
}
