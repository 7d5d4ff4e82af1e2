import type { Server } from "node:http";
import { LLMock } from "@copilotkit/aimock";
import { fillTemplate, pickAnswer } from "../../src/providers/scripted/pick-answer.ts";
import { parseScript, type ScriptInput } from "../../src/providers/scripted/script.ts";

/** A third-party model server on loopback that answers from a script; all wire formats are below /v1. */
export async function startAimock(input: ScriptInput): Promise<AsyncDisposable & { url: string }> {
  const script = parseScript(input, "of the server");
  const longest = Math.max(...script.answers.map(({ chunk }) => chunk));
  const pause = Math.max(...script.answers.map(({ delay_ms }) => delay_ms));
  const mock = new LLMock({ port: 0, host: "127.0.0.1", chunkSize: longest, latency: pause });
  const total = script.answers.reduce((sum, { times }) => sum + times, 0);
  for (let position = 0; position < total; position++) {
    const lines = Array.from(
      { length: position },
      () => ({ role: "assistant", text: "", isSteer: false }) as const,
    );
    const { answer, number } = pickAnswer(script, lines);
    if (answer === undefined) throw new Error(`no answer number ${position + 1}`);
    const { reasoning, text, tools, usage } = answer;
    mock.on(
      {
        // Each item of an answer in the Responses API counts as a message here.
        predicate: ({ messages }) =>
          messages.filter(({ role }, at) => role === "assistant" && messages[at - 1]?.role !== role)
            .length === position,
      },
      {
        ...(text === "" && tools.length > 0 ? {} : { content: fillTemplate(text, number) }),
        ...(reasoning === "" ? {} : { reasoning: fillTemplate(reasoning, number) }),
        ...(tools.length === 0
          ? {}
          : {
              toolCalls: tools.map(({ name, input: data }) => ({
                name,
                arguments: fillTemplate(typeof data === "string" ? data : JSON.stringify(data), number),
              })),
            }),
        usage: {
          prompt_tokens: usage.input ?? 0,
          completion_tokens: usage.output ?? 0,
          input_tokens: usage.input ?? 0,
          output_tokens: usage.output ?? 0,
        },
      },
    );
  }
  await mock.start();
  // The server has no setting for this. A slow client must find its connection open, and not just being closed.
  const { serverInstance } = mock as unknown as { readonly serverInstance: { readonly server: Server } };
  serverInstance.server.keepAliveTimeout = 600_000;
  return {
    url: mock.url,
    async [Symbol.asyncDispose]() {
      await mock.stop();
    },
  };
}
