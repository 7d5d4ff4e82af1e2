import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempHome } from "../support/hermes.ts";

const HALF = /\\ud[89a-f][0-9a-f]{2}/i; // a single surrogate escape: complete pairs are sent unescaped
const NAME = /^[A-Za-z0-9_-]{1,64}$/;
const NAMES = ["functions.terminal", "", "é".repeat(70)];
const INPUT = '{"path":"a\\ud83d.txt"}'; // the model wrote the escape itself

/** The error with which a strict server refuses a body; undefined if it accepts the body. */
function refusalOf(text: string, isMessages: boolean): string | undefined {
  if (HALF.test(text)) return "invalid high surrogate in string";
  const { messages } = JSON.parse(text) as {
    messages: { content: { type: string; name?: string }[]; tool_calls?: { function: { name: string } }[] }[];
  };
  const names = messages.flatMap(({ content, tool_calls: calls = [] }) =>
    isMessages && Array.isArray(content)
      ? content.flatMap(({ type, name = "" }) => (type === "tool_use" ? [name] : []))
      : calls.map((call) => call.function.name),
  );
  if (!names.every((name) => NAME.test(name))) return "tool name does not match the pattern";
  return /image\/png/.test(text) ? "Could not process image" : undefined;
}

function chatAnswer(calls: boolean): object[] {
  const delta = calls
    ? {
        content: "half \ud83d",
        tool_calls: NAMES.map((name, index) => ({
          index,
          id: `c${index}`,
          function: { name, arguments: INPUT },
        })),
      }
    : { content: "fine" };
  return [
    { choices: [{ index: 0, delta, finish_reason: null }] },
    { choices: [{ index: 0, delta: {}, finish_reason: calls ? "tool_calls" : "stop" }] },
  ];
}

function messagesAnswer(calls: boolean): object[] {
  const block = (index: number, content_block: object, delta: object) => [
    { type: "content_block_start", index, content_block },
    { type: "content_block_delta", index, delta },
    { type: "content_block_stop", index },
  ];
  const text = { type: "text_delta", text: calls ? "half \ud83d" : "fine" };
  const uses = calls ? NAMES : [];
  return [
    { type: "message_start", message: { usage: {} } },
    ...block(0, { type: "text", text: "" }, text),
    ...uses.flatMap((name, index) =>
      block(
        index + 1,
        { type: "tool_use", id: `c${index}`, name, input: {} },
        { type: "input_json_delta", partial_json: INPUT },
      ),
    ),
    { type: "message_delta", delta: { stop_reason: calls ? "tool_use" : "end_turn" } },
    { type: "message_stop" },
  ];
}

/** A server that is as strict as real ones. Its first answer contains odd things that models sometimes write. */
async function startStrictServer() {
  const refusals: string[] = [];
  let answers = 0;
  const server = createServer(async (request, response) => {
    if (request.method === "GET") return void response.writeHead(404).end(); // it lists no models
    let text = "";
    for await (const chunk of request.setEncoding("utf8")) text += chunk;
    const isMessages = request.url?.endsWith("/messages") ?? false;
    const wrong = refusalOf(text, isMessages);
    if (wrong !== undefined) {
      refusals.push(wrong);
      response.writeHead(400, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message: wrong } }));
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    const events = (isMessages ? messagesAnswer : chatAnswer)(answers++ === 0);
    response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    refusals,
    [Symbol.asyncDispose]: async () => void (await new Promise((resolve) => server.close(resolve))),
  };
}

test.each(["chat_completions", "anthropic_messages"])(
  "a session can be continued, whatever a model wrote or a user sent (%s)",
  async (format) => {
    await using server = await startStrictServer();
    await using home = await tempHome();
    const env = {
      HERMES_MODEL_PROVIDER: "custom",
      HERMES_MODEL_BASE_URL: `${server.url}/v1`,
      HERMES_MODEL_API_MODE: format,
      HERMES_MODEL_DEFAULT: "m",
      OPENAI_API_KEY: "sk-test-never-shown",
    };
    const run = (...words: string[]) => home.hermes(words, { env, cwd: home.folder });
    expect(await run("-z", "go")).toMatchObject({ exitCode: 0, stdout: "fine\n", stderr: "" });
    expect(await run("-c", "-z", "and on")).toMatchObject({ exitCode: 0, stdout: "fine\n" });
    expect(server.refusals).toEqual([]);

    const png = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");
    await writeFile(join(home.folder, "page.png"), png);
    const refused = await run("-c", "-z", "look", "--image", "page.png");
    expect(refused).toMatchObject({ exitCode: 1, stdout: "" });
    expect(refused.stderr).toContain("Could not process image");
    expect(refused.stderr).toContain("-c continues without the pictures");
    expect(await run("-c", "-z", "go on then")).toMatchObject({ exitCode: 0, stdout: "fine\n" });
    expect(server.refusals).toEqual(["Could not process image"]);
  },
);
