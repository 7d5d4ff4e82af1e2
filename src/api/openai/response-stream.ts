import type { AgentEvent } from "../../agent/events.ts";
import type { Frame } from "../event-stream.ts";
import type { ApiRun } from "../runs/api-runs.ts";
import type { RunFormat } from "../runs/follow-run.ts";
import { describeResponse, type ResponseFacts } from "./response-body.ts";
import { createItemCollector, type ItemCollectorOptions, type OutputItem } from "./response-items.ts";

/** The events of a streamed response, in OpenAI's order. `part` is the number of the response within the turn. */
export function createResponseFormat(
  run: ApiRun,
  facts: ResponseFacts,
  part: number,
  options: ItemCollectorOptions,
): RunFormat {
  const collector = createItemCollector(run.id, options);
  let sequence = 0;
  /** The message that is being streamed. */
  let open: { readonly id: string; readonly index: number; text: string } | undefined;
  const frame = (type: string, fields: object): Frame => ({
    event: type,
    data: JSON.stringify({ type, sequence_number: sequence++, ...fields }),
  });
  const textPart = (text: string) => ({ type: "output_text", text, annotations: [] });

  function openMessage(): Frame[] {
    open = { id: collector.nextMessageId(), index: collector.items().length, text: "" };
    const item = { id: open.id, type: "message", role: "assistant", status: "in_progress", content: [] };
    const place = { output_index: open.index, content_index: 0, item_id: open.id };
    return [
      frame("response.output_item.added", { output_index: open.index, item }),
      frame("response.content_part.added", { ...place, part: textPart("") }),
    ];
  }

  function addText(delta: string): Frame[] {
    const opened = open === undefined ? openMessage() : [];
    if (open === undefined) return opened;
    open.text += delta;
    const place = { output_index: open.index, content_index: 0, item_id: open.id };
    return [...opened, frame("response.output_text.delta", { ...place, delta, logprobs: [] })];
  }

  function finish(item: OutputItem): Frame[] {
    const index = collector.items().indexOf(item);
    const done = frame("response.output_item.done", { output_index: index, item });
    if (item.type !== "message") {
      const added = frame("response.output_item.added", { output_index: index, item });
      if (item.type !== "function_call") return [added, done];
      const words = { item_id: item.id, output_index: index, arguments: item.arguments, name: item.name };
      return [added, frame("response.function_call_arguments.done", words), done];
    }
    const text = item.content.map((one) => one.text).join("");
    const before = open === undefined ? addText(text) : [];
    open = undefined;
    const place = { output_index: index, content_index: 0, item_id: item.id };
    return [
      ...before,
      frame("response.output_text.done", { ...place, text, logprobs: [] }),
      frame("response.content_part.done", { ...place, part: textPart(text) }),
      done,
    ];
  }

  return {
    start: () => {
      const response = describeResponse(run, facts, { ...collector, part: () => part }, "in-progress");
      return [frame("response.created", { response }), frame("response.in_progress", { response })];
    },
    event(event: AgentEvent) {
      if (collector.isPaused()) {
        sequence = 2; // after the two events with which the next response has begun
        open = undefined;
      }
      if (event.type === "text-delta") {
        collector.add(event); // the first event after a pause begins the next response
        return addText(event.text);
      }
      const frames = collector.add(event).flatMap(finish);
      if (!collector.isPaused()) return frames;
      return [
        ...frames,
        frame("response.completed", { response: describeResponse(run, facts, collector, "paused") }),
      ];
    },
    isPaused: collector.isPaused,
    end(result) {
      const rest = collector.complete(result.text).flatMap(finish);
      const response = describeResponse(run, facts, collector, result);
      const type = response.status === "cancelled" ? "failed" : response.status;
      return [...rest, frame(`response.${type}`, { response })];
    },
  };
}
