import type { AnswerView } from "./scripted-events.ts";

/** The answer as Ollama's /api/chat streams it: one object per line, calls complete and without ids. */
export function* ollamaEvents({ reasoning, text, calls, finish, usage }: AnswerView): Generator<string> {
  const line = (message: object, more: object = {}) =>
    `${JSON.stringify({ model: "m", message: { role: "assistant", content: "", ...message }, done: false, ...more })}\n`;
  for (const piece of reasoning) yield line({ thinking: piece });
  for (const piece of text) yield line({ content: piece });
  for (const { name, input } of calls)
    yield line({ tool_calls: [{ function: { name, arguments: JSON.parse(input.join("") || "{}") } }] });
  yield line(
    {},
    {
      done: true,
      done_reason: finish === "length" || finish === "window" ? "length" : "stop",
      prompt_eval_count: usage.input ?? 0,
      eval_count: usage.output ?? 0,
    },
  );
}
