import { readFile } from "node:fs/promises";
import type { ChatCompletionMessageParam } from "openai/resources";
import { expect, test } from "vitest";
import { addKey, openApiLab } from "../../test/support/api-lab.ts";

const CALL = {
  text: "Let me look.",
  tools: [{ name: "terminal", input: { command: "echo from-the-tool" } }],
};
const ask = (content: string) => ({ model: "hermes-agent", messages: [{ role: "user" as const, content }] });

test("H12: the official client lists the models", async () => {
  await using lab = await openApiLab({}, { api_server: { model_routes: { fast: "scripted:/nowhere" } } });
  const models = await lab.openai().models.list();
  expect(models.data.map(({ id }) => id)).toEqual(["hermes-agent", "fast"]);
});

test("H12: the official client gets a chat completion, with a tool that the server runs", async () => {
  await using lab = await openApiLab({
    answers: [CALL, { text: "It said so.", usage: { input: 30, output: 5 } }],
  });
  const completion = await lab.openai().chat.completions.create(ask("look"));
  expect(completion.choices[0]).toMatchObject({
    message: { role: "assistant", content: "It said so." },
    finish_reason: "stop",
  });
  expect(completion.usage?.total_tokens).toBeGreaterThan(0);
});

test("H12: the official client streams a chat completion, with usage at the end", async () => {
  await using lab = await openApiLab({ answers: [CALL, { text: "It said so.", chunk: 3 }] });
  const stream = await lab
    .openai()
    .chat.completions.create({ ...ask("look"), stream: true, stream_options: { include_usage: true } });
  let text = "";
  const finishes = [];
  let usage: unknown;
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? "";
    if (chunk.choices[0]?.finish_reason) finishes.push(chunk.choices[0].finish_reason);
    usage = chunk.usage ?? usage;
  }
  expect(text).toBe("Let me look.\n\nIt said so.");
  expect(finishes).toEqual(["stop"]);
  expect(usage).toMatchObject({ total_tokens: expect.any(Number) });
});

test("H12: the stream helper of the official client finds the final content", async () => {
  await using lab = await openApiLab({ answers: [CALL, { text: "It said so.", chunk: 3 }] });
  const stream = lab.openai().chat.completions.stream(ask("look"));
  expect(await stream.finalContent()).toBe("Let me look.\n\nIt said so.");
});

const WEATHER = {
  type: "function" as const,
  function: {
    name: "get_weather",
    description: "The weather of a city",
    parameters: { type: "object", properties: { city: { type: "string" } } },
  },
};
const ASKS = (...cities: string[]) => ({
  text: "Let me ask.",
  tools: cities.map((city) => ({ name: "get_weather", input: { city } })),
});

test("H5: the model calls functions of the client, whose next request brings the results to the waiting turn", async () => {
  await using lab = await openApiLab({
    answers: [
      ASKS("Oslo", "Rome"),
      { tools: [{ name: "terminal", input: { command: "echo x >> ran" } }] },
      { text: "Cold, warm." },
    ],
  });
  const client = lab.openai();
  const tools = [WEATHER];
  const messages: ChatCompletionMessageParam[] = [{ role: "user", content: "weather?" }];
  const first = await client.chat.completions.create({ model: "hermes-agent", messages, tools });
  const [choice] = first.choices;
  expect(choice?.finish_reason).toBe("tool_calls");
  const calls = choice?.message.tool_calls ?? [];
  expect(calls.map((call) => call.type === "function" && JSON.parse(call.function.arguments))).toEqual([
    { city: "Oslo" },
    { city: "Rome" },
  ]);
  if (choice === undefined) return;
  const results = calls.map(({ id }) => ({ role: "tool" as const, tool_call_id: id, content: "5 degrees" }));
  const next = [...messages, choice.message, ...results];
  const second = await client.chat.completions.create({ model: "hermes-agent", messages: next, tools });
  expect(second.choices[0]).toMatchObject({ message: { content: "Cold, warm." }, finish_reason: "stop" });
  expect(await readFile(lab.folder.file("ran"), "utf8")).toBe("x\n");
});

test("H5: calls of functions of the client are streamed, and the stream after the results begins with the rest", async () => {
  await using lab = await openApiLab({ answers: [ASKS("Oslo"), { text: "Cold.", chunk: 2 }] });
  const runner = lab.openai().chat.completions.runTools({
    model: "hermes-agent",
    stream: true,
    messages: [{ role: "user", content: "weather?" }],
    tools: [
      {
        type: "function",
        function: { ...WEATHER.function, function: (input: string) => `5 degrees (${input})`, parse: String },
      },
    ],
  });
  expect(await runner.finalContent()).toBe("Cold.");
  const said = runner.messages.map(({ role, content }) => [role, content]);
  expect(said).toEqual([
    ["user", "weather?"],
    ["assistant", "Let me ask."],
    ["tool", '5 degrees ({"city":"Oslo"})'],
    ["assistant", "Cold."],
  ]);
});

test("H5: results for a turn that is gone are read by the model as part of the history", async () => {
  await using lab = await openApiLab({ turns: [{ when: "5 degrees", answers: [{ text: "Cold." }] }] });
  const id = "call_000000000000000000000000_1";
  const call = { id, type: "function" as const, function: { name: "get_weather", arguments: "{}" } };
  const completion = await lab.openai().chat.completions.create({
    model: "hermes-agent",
    messages: [
      { role: "user", content: "weather?" },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: id, content: "5 degrees" },
    ],
    tools: [WEATHER],
  });
  expect(completion.choices[0]?.message.content).toBe("Cold.");
});

const WEATHER_FUNCTION = {
  type: "function" as const,
  name: "get_weather",
  parameters: { type: "object", properties: { city: { type: "string" } } },
  strict: false,
};

test("H5: a response ends with a call of the client's function, and one with its result continues the same turn", async () => {
  await using lab = await openApiLab({
    answers: [
      ASKS("Oslo"),
      { tools: [{ name: "terminal", input: { command: "echo x >> ran" } }] },
      ASKS("Rome"),
      { text: "Cold, warm." },
    ],
  });
  const client = lab.openai();
  const ask = { model: "hermes-agent", tools: [WEATHER_FUNCTION] };
  const first = await client.responses.create({ ...ask, input: "weather?" });
  expect(first).toMatchObject({ status: "completed", output_text: "Let me ask." });
  const callIn = (response: typeof first) => {
    const [call, ...others] = response.output.filter((item) => item.type === "function_call");
    expect(others).toEqual([]);
    return call?.type === "function_call" ? call : undefined;
  };
  expect(JSON.parse(callIn(first)?.arguments ?? "")).toEqual({ city: "Oslo" });
  const answerTo = (response: typeof first, output: string) =>
    client.responses.create({
      ...ask,
      previous_response_id: response.id,
      input: [{ type: "function_call_output", call_id: callIn(response)?.call_id ?? "", output }],
    });
  const second = await answerTo(first, "5 degrees");
  expect(JSON.parse(callIn(second)?.arguments ?? "")).toEqual({ city: "Rome" });
  expect(second.id).not.toBe(first.id);
  const last = await answerTo(second, "30 degrees");
  expect(last).toMatchObject({ status: "completed", output_text: "Cold, warm." });
  expect(last.output.map(({ type }) => type)).toEqual(["message"]);
  expect(await client.responses.retrieve(last.id)).toMatchObject({ output_text: "Cold, warm." });
  expect(await readFile(lab.folder.file("ran"), "utf8")).toBe("x\n");
});

test("H5: calls of functions are streamed in responses, with an end of its own for each response of the turn", async () => {
  await using lab = await openApiLab({ answers: [ASKS("Oslo"), { text: "Cold.", chunk: 2 }] });
  const client = lab.openai();
  const ask = { model: "hermes-agent", tools: [WEATHER_FUNCTION] };
  const first = await client.responses.stream({ ...ask, input: "weather?" }).finalResponse();
  const call = first.output.find((item) => item.type === "function_call");
  const next = client.responses.stream({
    ...ask,
    previous_response_id: first.id,
    input: [
      {
        type: "function_call_output",
        call_id: call?.type === "function_call" ? call.call_id : "",
        output: "5 degrees",
      },
    ],
  });
  const types: string[] = [];
  for await (const event of next) types.push(event.type);
  expect(types.slice(0, 3)).toEqual([
    "response.created",
    "response.in_progress",
    "response.output_item.added",
  ]);
  expect(await next.finalResponse()).toMatchObject({ status: "completed", output_text: "Cold." });
});

test("H5: results for a response whose turn is gone are read by the model, also without the earlier responses", async () => {
  await using lab = await openApiLab({ turns: [{ when: "5 degrees", answers: [{ text: "Cold." }] }] });
  const call_id = "call_000000000000000000000000_1";
  const response = await lab.openai().responses.create({
    model: "hermes-agent",
    tools: [WEATHER_FUNCTION],
    input: [
      { role: "user", content: "weather?" },
      { type: "function_call", call_id, name: "get_weather", arguments: "{}" },
      { type: "function_call_output", call_id, output: "5 degrees" },
    ],
  });
  expect(response.output_text).toBe("Cold.");
});

test("H12: a stateless client sends its history, which the model sees", async () => {
  await using lab = await openApiLab({
    turns: [{ when: "second", answers: [{ text: "two" }] }],
  });
  const completion = await lab.openai().chat.completions.create({
    model: "hermes-agent",
    messages: [
      { role: "system", content: "Be kind." },
      { role: "user", content: "first" },
      { role: "assistant", content: "one" },
      { role: "user", content: [{ type: "text", text: "second" }] },
    ],
  });
  expect(completion.choices[0]?.message.content).toBe("two");
});

test("H12: the official client creates, streams, reads, continues and deletes responses", async () => {
  await using lab = await openApiLab({
    turns: [
      { when: "look", answers: [CALL, { text: "It said so." }] },
      { when: "again", answers: [{ text: "Again.", chunk: 2 }] },
    ],
  });
  const client = lab.openai();
  const first = await client.responses.create({ model: "hermes-agent", input: "look" });
  expect(first.output_text).toBe("Let me look.It said so.");
  expect(first.output.map(({ type }) => type)).toEqual([
    "message",
    "function_call",
    "function_call_output",
    "message",
  ]);
  const stream = client.responses.stream({
    model: "hermes-agent",
    input: "again",
    previous_response_id: first.id,
  });
  const types: string[] = [];
  for await (const event of stream) types.push(event.type);
  const second = await stream.finalResponse();
  expect(second.output_text).toBe("Again.");
  expect(types).toContain("response.output_text.delta");
  expect(types.at(-1)).toBe("response.completed");
  expect((await client.responses.retrieve(second.id)).output_text).toBe("Again.");
  await client.responses.delete(first.id);
  await expect(client.responses.retrieve(first.id)).rejects.toMatchObject({ status: 404 });
});

test("H12: a response can be continued twice, and each continuation sees only the conversation up to it", async () => {
  await using lab = await openApiLab({ answers: [{ text: "one" }, { text: "two" }, { text: "three" }] });
  const client = lab.openai();
  const say = (input: string, previous?: string) =>
    client.responses.create({
      model: "hermes-agent",
      input,
      ...(previous !== undefined && { previous_response_id: previous }),
    });
  const first = await say("a");
  const second = await say("b", first.id);
  const other = await say("c", first.id);
  const third = await say("d", second.id);
  // The script counts the answers of the conversation.
  expect([first, second, other, third].map((one) => one.output_text)).toEqual(["one", "two", "two", "three"]);
});

test("H12: a conversation is continued by its name, and not together with a previous response", async () => {
  await using lab = await openApiLab({ answers: [{ text: "one" }, { text: "two" }] });
  const client = lab.openai();
  const say = (more: object) => client.responses.create({ model: "hermes-agent", input: "a", ...more });
  const first = await say({ conversation: "mine" });
  expect((await say({ conversation: "mine" })).output_text).toBe("two");
  expect((await say({ conversation: "other" })).output_text).toBe("one");
  await expect(say({ conversation: "mine", previous_response_id: first.id })).rejects.toMatchObject({
    status: 400,
  });
  const unstored = await say({ store: false });
  await expect(client.responses.retrieve(unstored.id)).rejects.toMatchObject({ status: 404 });
});

test("H12: errors reach the official client as its own classes", async () => {
  await using lab = await openApiLab({ answers: [{ text: "", fail: { kind: "auth", message: "no" } }] });
  const client = lab.openai();
  await expect(lab.openai("wrong").models.list()).rejects.toMatchObject({
    status: 401,
    code: "invalid_api_key",
  });
  await expect(client.chat.completions.create({ ...ask("x"), model: "gpt-9" })).rejects.toMatchObject({
    status: 404,
    code: "model_not_found",
    param: "model",
  });
  await expect(client.chat.completions.create(ask("x"))).rejects.toMatchObject({ status: 502 });
  const stream = await client.chat.completions.create({ ...ask("x"), stream: true });
  await expect(
    (async () => {
      for await (const _ of stream);
    })(),
  ).rejects.toThrow("no");
});

test("K15: a key reaches neither the responses nor the sessions of another key", async () => {
  await using lab = await openApiLab({ answers: [{ text: "mine" }] });
  const response = await lab.openai().responses.create({ model: "hermes-agent", input: "hi" });
  const other = lab.openai(await addKey(lab, "chat"));
  await expect(other.responses.retrieve(response.id)).rejects.toMatchObject({ status: 404 });
  await expect(
    other.responses.create({ model: "hermes-agent", input: "hi", previous_response_id: response.id }),
  ).rejects.toMatchObject({ status: 404 });
});
