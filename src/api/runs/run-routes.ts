import { z } from "zod";
import type { Answer } from "../../approvals/approval.ts";
import { parseClarification } from "../../approvals/clarification.ts";
import { ApiError } from "../api-error.ts";
import type { ApiParts } from "../api-parts.ts";
import { type ApiCall, bodyRoute, type Route, route } from "../api-route.ts";
import type { Caller } from "../keys/caller.ts";
import { messageSchema, parseMessages } from "../openai/message-input.ts";
import { type ApiRun, type ApiRuns, createRunId } from "./api-runs.ts";
import { applyOnDisconnect, parseLastEventId, parseOnDisconnect, streamRun } from "./follow-run.ts";
import { createRunFormat } from "./run-events.ts";
import { parseIdempotency, parseSessionName, runHeaders } from "./run-headers.ts";
import { describeRun, runStatus } from "./run-view.ts";

const startSchema = z.looseObject({
  input: z.union([z.string().min(1), z.array(messageSchema).min(1)]),
  session_id: z.string().nullish(),
  instructions: z.string().nullish(),
  conversation_history: z.array(messageSchema).nullish(),
  previous_response_id: z.string().nullish(),
  model: z.string().optional(),
});

const approvalSchema = z.looseObject({
  /** The id of the question to answer; by default the oldest one that waits. */
  approval_id: z.string().optional(),
  choice: z.string(),
  /** Answers all waiting questions of the run. */
  all: z.boolean().optional(),
  /** The reason for a denial. */
  reason: z.string().max(1_000).optional(),
});

const steerSchema = z.looseObject({ text: z.string().min(1).max(65_536) });

const CHOICES: Readonly<Record<string, Pick<Answer, "verdict" | "scope">>> = {
  once: { verdict: "approved", scope: "once" },
  approve: { verdict: "approved", scope: "once" },
  allow: { verdict: "approved", scope: "once" },
  session: { verdict: "approved", scope: "session" },
  always: { verdict: "approved", scope: "always" },
  deny: { verdict: "denied" },
};

const KEY = { credential: "key", scope: "runs" } as const;

/** The routes under `/v1/runs`: separate requests start, watch, answer, steer and stop turns. */
export function runRoutes(
  parts: ApiParts,
  runs: ApiRuns,
  findSessionOfResponse: (call: ApiCall, responseId: string) => Promise<string>,
): readonly Route[] {
  const requireRun = ({ caller, params }: ApiCall): ApiRun => runs.require(caller, params["id"] ?? "");
  const requireActive = (call: ApiCall) => {
    const run = requireRun(call);
    const { turn } = run;
    if (turn !== undefined && turn.state() !== "ended") return { run, turn };
    throw new ApiError(409, "run_not_active", `The run ${run.id} has ended or belongs to another process.`);
  };

  return [
    bodyRoute(KEY, "/v1/runs", startSchema, async (call) => {
      const { caller, headers, body, disconnected } = call;
      const { input, session_id, previous_response_id: previous } = body;
      if (previous && session_id)
        throw new ApiError(
          400,
          "conflicting_parameters",
          "Give previous_response_id or session_id, not both.",
        );
      const said = typeof input === "string" ? [{ role: "user" as const, content: input }] : input;
      const messages = [...(body.conversation_history ?? []), ...said];
      const parsed = await parseMessages(messages, parts.fetchImage, disconnected);
      const run = await runs.start({
        ...parsed,
        id: createRunId(),
        instructions: [body.instructions ?? "", parsed.instructions]
          .filter((text) => text !== "")
          .join("\n\n"),
        kind: "run",
        caller,
        model: body.model,
        sessionName: previous
          ? await findSessionOfResponse(call, previous)
          : parseSessionName(session_id, "session_id"),
        canAsk: true,
        idempotency: parseIdempotency(headers, ["run", body]),
      });
      // `runHeaders` waits until the session is open, so that a request that cannot be run is refused now. A turn queued
      // behind another one in its session is not waited for.
      const runHeader =
        run.turn?.state() === "waiting" && session_id ? { "X-Hermes-Run-Id": run.id } : await runHeaders(run);
      return Response.json({ run_id: run.id, status: "started" }, { status: 202, headers: runHeader });
    }),
    route(KEY, "GET", "/v1/runs/:id", (call) => {
      const run = requireRun(call);
      return Response.json(describeRun(run));
    }),
    route(KEY, "GET", "/v1/runs/:id/events", (call) => {
      const run = requireRun(call);
      applyOnDisconnect(
        run,
        parseOnDisconnect(call.headers.get("X-Hermes-On-Disconnect")),
        call.disconnected,
      );
      const after = parseLastEventId(call.headers.get("Last-Event-ID"));
      return streamRun(run, createRunFormat(run), after, {}, { ...parts, disconnect: call.disconnect });
    }),
    bodyRoute(KEY, "/v1/runs/:id/approval", approvalSchema, async (call) => {
      const { turn, run } = requireActive(call);
      const { approval_id: wanted, choice, all = false, reason } = call.body;
      const waiting = turn.questions();
      const asked =
        wanted === undefined
          ? all
            ? waiting
            : waiting.slice(0, 1)
          : waiting.filter(({ id }) => id === wanted);
      if (asked.length === 0)
        throw new ApiError(409, "approval_not_pending", `The run ${run.id} does not wait for this answer.`);
      const by = `API key ${call.caller.name}`;
      const answered = [];
      for (const question of asked) {
        const { id, kind, details } = question;
        const answer: Omit<Answer, "by"> =
          kind === "clarification"
            ? { verdict: "answered", text: parseClarification(choice, details) }
            : { ...requireChoice(choice, call.caller), text: reason };
        await turn.answer(id, { ...answer, by }, call.disconnected);
        answered.push(id);
      }
      return Response.json({ run_id: run.id, answered, choice });
    }),
    route(KEY, "POST", "/v1/runs/:id/stop", (call) => {
      const run = requireRun(call);
      if (run.turn === undefined && run.stored()?.result === undefined)
        throw new ApiError(409, "run_elsewhere", `Another process runs ${run.id}.`);
      run.turn?.stop();
      return Response.json({ run_id: run.id, status: runStatus(run) });
    }),
    bodyRoute(KEY, "/v1/runs/:id/steer", steerSchema, async (call) => {
      const { turn, run } = requireActive(call);
      if (!turn.steer(call.body.text))
        throw new ApiError(
          409,
          "run_not_active",
          `The run ${run.id} cannot be steered now: it has not started or is stopping.`,
        );
      return Response.json({ run_id: run.id, status: runStatus(run) });
    }),
  ];
}

/** "Always" adds a rule to the settings, so it needs more than the scope of runs. */
function requireChoice(choice: string, { scopes }: Caller): Pick<Answer, "verdict" | "scope"> {
  const found = Object.hasOwn(CHOICES, choice) ? CHOICES[choice] : undefined;
  if (found?.scope === "always" && !scopes.includes("admin"))
    throw new ApiError(
      403,
      "scope_missing",
      'The choice "always" adds a rule to the settings, which requires the scope "admin".',
    );
  if (found !== undefined) return found;
  throw new ApiError(
    400,
    "invalid_approval_choice",
    `choice must be one of: ${Object.keys(CHOICES).join(", ")}.`,
    "choice",
  );
}
