import { mkdir } from "node:fs/promises";
import { expect, test } from "vitest";
import { scale } from "../../test/support/scale.ts";
import { startScriptedServer } from "../../test/support/scripted-server.ts";
import { tempFolder } from "../../test/support/temp-folder.ts";
import type { AgentEvent } from "../agent/events.ts";
import { agentOptions } from "../agent/options.ts";
import { createEnvironmentRegistry } from "../environments/environment-registry.ts";
import { openEnvironment } from "../environments/open-environment.ts";
import { terminalOptions } from "../environments/options.ts";
import { toolOutputOptions } from "../environments/tool-output-options.ts";
import { createRedactor } from "../lib/redact/redactor.ts";
import { modelOptions, providersOption } from "../providers/options.ts";
import { type ConversationRequest, openConversation } from "./open-conversation.ts";

const never = new AbortController().signal;
const NO_LIMITS = { maxRequests: undefined, maxSeconds: undefined, maxCostUsd: undefined };
const say = (text: string) => ({ role: "user", parts: [{ type: "text", text }] }) as const;

async function openPlace(baseUrl: string, apiMode: string, terminal: object = {}) {
  const folder = await tempFolder();
  const home = folder.file("home");
  await mkdir(home);
  const settings = {
    model: modelOptions.parse({ provider: "mine", default: "m", api_mode: apiMode }),
    providers: providersOption.parse({ mine: { base_url: baseUrl, api_mode: apiMode } }),
    agent: agentOptions.parse({}),
    tool_output: toolOutputOptions.parse({}),
  };
  const environments = createEnvironmentRegistry({
    open: openEnvironment,
    lookAfter: async () => undefined,
    onError: (what, error) => {
      throw new Error(what, { cause: error });
    },
  });
  const request = (resume: string | undefined): ConversationRequest => ({
    home,
    sessionsPath: folder.file("home/sessions.sqlite"),
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
    model: {},
    settingsWin: false,
    surface: {
      source: "cli",
      words: "",
      ask: undefined,
      canNotify: false,
      takesNotes: false,
      haltsLoops: false,
      showsText: true,
    },
    judge: () => undefined,
  });
  return {
    request,
    async [Symbol.asyncDispose]() {
      await environments[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

test.each(["chat_completions", "anthropic_messages"])(
  "M2: the prompt of the last turn begins with that of the first, byte for byte, over calls, notes and new processes (%s)",
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
    await using place = await openPlace(`${server.url}/v1`, apiMode);
    const prefixes: (readonly string[])[] = [];
    const broken: AgentEvent[] = [];
    let session: string | undefined;
    for (let turn = 0; turn < scale.turns; ) {
      // As another process would: from what is stored alone.
      await using conversation = await openConversation(place.request(session), never);
      session = conversation.sessionId;
      for (const until = turn + scale.turns / 4; turn < until; turn++) {
        if (turn % 8 === 0) conversation.steer("a note");
        for await (const event of conversation.say(say(`<turn ${turn}>`), NO_LIMITS, never)) {
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
    await using place = await openPlace(`${server.url}/v1`, "chat_completions", { lifetime_seconds });
    await using conversation = await openConversation(place.request(undefined), never);
    const runTurn = async (word: string) => {
      let result = "";
      for await (const event of conversation.say(say(word), NO_LIMITS, never))
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

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
