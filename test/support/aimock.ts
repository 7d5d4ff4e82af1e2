import type { Server } from "node:http";
import { LLMock } from "@copilotkit/aimock";
import { fillIn, pickAnswer } from "../../src/providers/scripted/pick-answer.ts";
import { parseScript, type ScriptInput } from "../../src/providers/scripted/script.ts";

/** A model server that we did not write, on loopback, answering as a script says; both wire formats are below /v1. */
export async function startAimock(input: ScriptInput): Promise<AsyncDisposable & { url: string }> {
  const script = parseScript(input, "of the server");
  const longest = Math.max(...script.answers.map(({ chunk }) => chunk));
  const pause = Math.max(...script.answers.map(({ delay_ms }) => delay_ms));
  const mock = new LLMock({ port: 0, host: "127.0.0.1", chunkSize: longest, latency: pause });
  const total = script.answers.reduce((sum, { times }) => sum + times, 0);
  for (let place = 0; place < total; place++) {
    const lines = Array.from(
      { length: place },
      () => ({ role: "assistant", text: "", isSteer: false }) as const,
    );
    const { answer, number } = pickAnswer(script, lines);
    if (answer === undefined) throw new Error(`no answer number ${place + 1}`);
    const { reasoning, text, tools, usage } = answer;
    mock.on(
      { predicate: ({ messages }) => messages.filter(({ role }) => role === "assistant").length === place },
      {
        ...(text === "" && tools.length > 0 ? {} : { content: fillIn(text, number) }),
        ...(reasoning === "" ? {} : { reasoning: fillIn(reasoning, number) }),
        ...(tools.length === 0
          ? {}
          : {
              toolCalls: tools.map(({ name, input: data }) => ({
                name,
                arguments: fillIn(typeof data === "string" ? data : JSON.stringify(data), number),
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
  // It has no setting for it: a client that is slow must find its connection again, and not one that is just being closed.
  const { serverInstance } = mock as unknown as { readonly serverInstance: { readonly server: Server } };
  serverInstance.server.keepAliveTimeout = 600_000;
  return {
    url: mock.url,
    async [Symbol.asyncDispose]() {
      await mock.stop();
    },
  };
}
