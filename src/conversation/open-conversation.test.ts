import { mkdir } from "node:fs/promises";
import { expect, test } from "vitest";
import { z } from "zod";
import { storedSettings } from "../../test/support/route-settings.ts";
import { scale } from "../../test/support/scale.ts";
import { startScriptedServer } from "../../test/support/scripted-server.ts";
import { tempFolder } from "../../test/support/temp-folder.ts";
import type { AgentEvent } from "../agent/events.ts";
import { agentOptions, auxiliaryOptions, compressionOptions } from "../agent/options.ts";
import { checkpointOptions } from "../checkpoints/options.ts";
import { createEnvironmentRegistry } from "../environments/environment-registry.ts";
import { openEnvironment } from "../environments/open-environment.ts";
import { terminalOptions } from "../environments/options.ts";
import { toolOutputOptions } from "../environments/tool-output-options.ts";
import { createRedactor } from "../lib/redact/redactor.ts";
import { neverAborted } from "../lib/time/never-aborted.ts";
import { approvalsOptions } from "../policy/options.ts";
import { createTrustedRules } from "../policy/rules/trusted-rules.ts";
import type { ApiMode } from "../providers/routes/profiles.ts";
import { openSessionStore } from "../sessions/session-store.ts";
import { defineTool, okJson } from "../tools/define-tool.ts";
import type { ConversationRequest } from "./conversation-request.ts";
import { openConversation } from "./open-conversation.ts";

const NO_LIMITS = { maxRequests: undefined, maxSeconds: undefined, maxCostUsd: undefined };
const say = (text: string) => ({ role: "user", parts: [{ type: "text", text }] }) as const;

async function openTestHome(baseUrl: string, apiMode: Exclude<ApiMode, "scripted">, terminal: object = {}) {
  const folder = await tempFolder();
  const home = folder.file("home");
  await mkdir(home);
  const settings = {
    ...storedSettings(
      { provider: "mine", default: "m", api_mode: apiMode },
      { mine: { base_url: baseUrl, api_mode: apiMode } },
    ),
    fallback_providers: [],
    credential_pool_strategies: {},
    agent: agentOptions.parse({}),
    compression: compressionOptions.parse({}),
    auxiliary: auxiliaryOptions.parse({}),
    approvals: approvalsOptions.parse({}),
    checkpoints: checkpointOptions.parse({}),
    tool_output: toolOutputOptions.parse({}),
    context_file_max_chars: 20_000,
    security: { allow_private_urls: false, redact_secrets: true, write_safe_root: "" },
  };
  const environments = createEnvironmentRegistry({
    open: openEnvironment,
    reclaimAbandoned: async () => undefined,
    onError: (what, error) => {
      throw new Error(what, { cause: error });
    },
  });
  const request = (resume: string | undefined): ConversationRequest => ({
    home,
    sessionsPath: folder.file("home/sessions.sqlite"),
    keysPath: folder.file("home/keys.sqlite"),
    spillHome: folder.file("home"),
    settings,
    redactor: createRedactor({ secrets: [] }),
    environments,
    environment: {
      options: terminalOptions.parse(terminal),
      profile: { name: "default", root: home, home },
      profileId: async () => "p",
      variables: { PATH: process.env["PATH"], HOME: folder.path },
      variable: () => undefined,
      userHome: folder.path,
      cwd: folder.path,
      reporter: { onNotice: () => undefined, onProgress: () => undefined },
    },
    choice: { resume },
    usesContextFiles: true,
    model: {},
    overrides: { model: undefined, provider: undefined, address: undefined, apiMode: undefined },
    catalogue: { complete: async (route) => route, rememberWindow: async () => undefined },
    surface: {
      source: "cli",
      instructions: "",
      canNotify: false,
      takesNotes: false,
      haltsLoops: false,
      showsText: true,
      whenApprovalNeeded: "deny",
      titledBy: "message",
    },
    policy: { mode: "manual", isYolo: false, isPlanning: false },
    rules: {
      managedPath: folder.file("managed.yaml"),
      configPath: folder.file("home/config.yaml"),
      loadUserRules: async () => settings.approvals,
      trusted: createTrustedRules(home),
    },
  });
  return {
    request,
    async [Symbol.asyncDispose]() {
      await environments[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

test.each([
  "chat_completions",
  "anthropic_messages",
  "codex_responses",
  "google_generate",
  "ollama_chat",
] as const)(
  "M2: each prompt begins with the bytes of the previous one, across calls, notes and new processes (%s)",
  async (apiMode) => {
    await using server = await startScriptedServer({
      turns: Array.from({ length: scale.turns }, (_, index) => ({
        when: `<turn ${index}>`,
        answers: [
          ...(index % 4 === 0
            ? [
                {
                  tools: [
                    { name: "terminal", input: { command: `echo ${index}` } },
                    { name: "todo", input: {} },
                  ],
                },
              ]
            : []),
          { text: `answer ${index}` },
        ],
      })),
    });
    await using testHome = await openTestHome(`${server.url}/v1`, apiMode);
    const prefixes: (readonly string[])[] = [];
    const broken: AgentEvent[] = [];
    let session: string | undefined;
    for (let turn = 0; turn < scale.turns; ) {
      // Like another process, a new conversation knows only the stored session.
      await using conversation = await openConversation(testHome.request(session), neverAborted);
      session = conversation.sessionId;
      for (const until = turn + scale.turns / 4; turn < until; turn++) {
        if (turn % 8 === 0) conversation.steer("a note");
        for await (const event of conversation.runTurn(say(`<turn ${turn}>`), NO_LIMITS, neverAborted)) {
          if (event.type === "request-sent") prefixes.push(event.prefix);
          if (event.type === "cache-broken") broken.push(event);
          if (event.type === "turn-end")
            expect(event).toMatchObject({ outcome: "completed", text: `answer ${turn}` });
        }
      }
    }
    expect(broken).toEqual([]);
    for (const [index, later] of prefixes.entries()) {
      const earlier = prefixes[index - 1] ?? [];
      expect(later.slice(0, earlier.length)).toEqual(earlier);
    }
    expect(prefixes.at(-1)?.length).toBeGreaterThan(2 * scale.turns);
  },
  120_000,
);

test.each([
  [0, "closed"],
  [300, "kept"],
])(
  "terminal.lifetime_seconds %i: between two turns the shell is %s, and the session keeps its folder and variables",
  async (lifetime_seconds, expected) => {
    const shell = (command: string) => ({
      tools: [{ name: "terminal", input: { command: `echo "<$PWD> <$COLOUR> <$$>"; ${command}` } }],
    });
    await using server = await startScriptedServer({
      turns: [
        { when: "first", answers: [shell("cd /usr; export COLOUR=blue"), { text: "done" }] },
        { when: "second", answers: [shell(":"), { text: "done" }] },
      ],
    });
    await using testHome = await openTestHome(`${server.url}/v1`, "chat_completions", { lifetime_seconds });
    await using conversation = await openConversation(testHome.request(undefined), neverAborted);
    const runTurn = async (word: string) => {
      let result = "";
      for await (const event of conversation.runTurn(say(word), NO_LIMITS, neverAborted))
        if (event.type === "tool-end") result = event.text;
      return [...result.matchAll(/<([^>]*)>/g)].map(([, text = ""]) => text);
    };
    const [, , pid] = await runTurn("first");
    if (expected === "closed") await expect.poll(() => isAlive(Number(pid)), { timeout: 60_000 }).toBe(false);
    const [folder, colour] = await runTurn("second");
    expect([folder, colour]).toEqual(["/usr", "blue"]);
    expect(isAlive(Number(pid)) ? "kept" : "closed").toBe(expected);
  },
);

test("D5: in a chat the model writes the title after the first answer, once, and the turns are the same without it", async () => {
  await using server = await startScriptedServer({
    turns: [
      {
        when: '{"user":',
        answers: [{ text: '"Greeting between Friends."', usage: { input: 9, output: 4 } }],
      },
      { when: "hello there", answers: [{ text: "hi" }] },
    ],
  });
  await using testHome = await openTestHome(`${server.url}/v1`, "chat_completions");
  const request = testHome.request(undefined);
  const chat = { ...request, surface: { ...request.surface, titledBy: "model" as const } };
  await using conversation = await openConversation(chat, neverAborted);
  for await (const _ of conversation.runTurn(say("hello there"), NO_LIMITS, neverAborted));
  using store = await openSessionStore(request.sessionsPath, {}, neverAborted);
  const title = () => store.list.find(conversation.sessionId)?.title;
  await expect.poll(title).toBe("Greeting between Friends");
  expect(store.usage.ofSession(conversation.sessionId)).toMatchObject({ requests: 2, inputTokens: 9 });
  for await (const _ of conversation.runTurn(say("hello there again"), NO_LIMITS, neverAborted));
  expect(server.requests.map(({ body }) => body.messages.length)).toEqual([2, 2, 4]);
});

test("K6: the results and errors of the tools that a surface adds are masked like those of all others", async () => {
  const secret = "sk-proj-aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7d";
  await using server = await startScriptedServer({
    turns: [
      {
        when: "hello",
        answers: [
          { tools: ["kanban_show", "kanban_list"].map((name) => ({ name, input: {} })) },
          { text: "hi" },
        ],
      },
    ],
  });
  await using testHome = await openTestHome(`${server.url}/v1`, "chat_completions");
  const request = testHome.request(undefined);
  const input = z.object({});
  const facts = { toolset: "kanban", description: "Reads.", input, mutates: false };
  const tools = [
    defineTool({ ...facts, name: "kanban_show", run: async () => okJson({ body: `use ${secret}` }, secret) }),
    defineTool({ ...facts, name: "kanban_list", run: () => Promise.reject(new Error(`no ${secret}`)) }),
  ];
  const withTools = { ...request, surface: { ...request.surface, tools } };
  await using conversation = await openConversation(withTools, neverAborted);
  const events: AgentEvent[] = [];
  for await (const event of conversation.runTurn(say("hello"), NO_LIMITS, neverAborted)) events.push(event);
  expect(server.requests).toHaveLength(2);
  expect(JSON.stringify([events, server.requests.map(({ body }) => body)])).not.toContain(secret);
  expect(events.flatMap((event) => (event.type === "tool-end" ? [event.text] : []))).toEqual([
    expect.stringContaining('{"body":"use '),
    expect.stringContaining('{"error":"no '),
  ]);
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
