import { writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { systemClock } from "../../lib/time/clock.ts";
import type { Message } from "../message.ts";
import { ask, collect, createTestSignal, lastOf, messageOf, providerContract } from "../provider.contract.ts";
import { FAILURE_KINDS, type FailureKind } from "../provider.ts";
import { loadScript, parseScript, type ScriptInput } from "./script.ts";
import { openScriptedModel } from "./scripted-model.ts";

function open(input: ScriptInput) {
  const script = parseScript(input, "test");
  return openScriptedModel({ name: "test", script, contextTokens: undefined, clock: systemClock });
}

describe("scripted", () => {
  providerContract(async (script) => ({ model: open(script), [Symbol.asyncDispose]: async () => undefined }));

  it("resumes at the right answer in a new process, because only the conversation determines it", async () => {
    const script: ScriptInput = {
      answers: [
        { tools: [{ name: "terminal", input: { command: "echo {n}" } }], times: 3 },
        { text: "Done." },
      ],
    };
    const history: (Message | string)[] = ["begin"];
    const inputs: string[] = [];
    for (let step = 0; step < 4; step++) {
      const message = messageOf(await collect(open(script).stream(ask(...history), createTestSignal())));
      history.push(message);
      for (const part of message.parts) {
        if (part.type !== "tool-call") continue;
        inputs.push(part.input);
        history.push({ role: "tool", callId: part.callId, tool: part.tool, text: "ok", failed: false });
      }
    }
    expect(inputs).toEqual(['{"command":"echo 1"}', '{"command":"echo 2"}', '{"command":"echo 3"}']);
    expect(history.at(-1)).toMatchObject({ parts: [{ text: "Done." }] });
    const again = await collect(open(script).stream(ask(...history, "more"), createTestSignal()));
    expect(lastOf(again)).toMatchObject({ failure: { kind: "refused" } });
  });

  it("counts from the last matching prompt, and ignores notes and prompts that do not match", async () => {
    const model = open({
      answers: [{ text: "Otherwise." }],
      turns: [
        { when: "build", answers: [{ text: "Building {n}.", times: 9 }] },
        { when: "test", answers: [{ text: "Testing {n}.", times: 9 }] },
      ],
    });
    const steer: Message = { role: "user", kind: "steer", parts: [{ type: "text", text: "test" }] };
    const say = async (...messages: (Message | string)[]) =>
      messageOf(await collect(model.stream(ask(...messages), createTestSignal())));
    const first = await say("please build");
    expect(first).toMatchObject({ parts: [{ text: "Building 1." }] });
    expect(await say("please build", first, steer)).toMatchObject({ parts: [{ text: "Building 2." }] });
    expect(await say("please build", first, "go on")).toMatchObject({ parts: [{ text: "Building 2." }] });
    expect(await say("please build", first, "now test")).toMatchObject({ parts: [{ text: "Testing 1." }] });
    expect(await say("hello")).toMatchObject({ parts: [{ text: "Otherwise." }] });
  });

  it.each(Object.keys(FAILURE_KINDS) as FailureKind[])("fails as the script says: %s", async (kind) => {
    const fail = { kind, status: 400, retry_after_ms: 5, message: "no luck" };
    const events = await collect(
      open({ answers: [{ text: "a", tools: [{ name: "terminal" }], fail }] }).stream(
        ask("hi"),
        createTestSignal(),
      ),
    );
    expect(lastOf(events)).toMatchObject({
      failure: {
        kind,
        status: 400,
        retryAfterMs: 5,
        message: "no luck",
        sawText: true,
        droppedTools: ["terminal"],
      },
    });
  });

  it("fails only as many attempts as the script says", async () => {
    const model = open({ answers: [{ text: "a", fail: { kind: "unavailable", attempts: 2 } }] });
    const kinds = [];
    for (let attempt = 0; attempt < 3; attempt++)
      kinds.push(lastOf(await collect(model.stream(ask("hi"), createTestSignal()))).type);
    expect(kinds).toEqual(["failed", "failed", "message-end"]);
  });

  it("reads scripts in YAML and JSON, and reports problems by their path", async () => {
    await using folder = await tempFolder();
    await writeFile(folder.file("a.yaml"), "answers:\n  - text: hi\n    usage: { input: 3 }\n");
    await writeFile(folder.file("b.json"), '{"answers":[{"text":"hi","usage":{"input":3}}]}');
    await writeFile(folder.file("c.yaml"), "answers:\n  - txt: hi\n");
    await writeFile(folder.file("d.yaml"), "answers: [");
    expect(await loadScript(folder.file("a.yaml"))).toEqual(await loadScript(folder.file("b.json")));
    await expect(loadScript(folder.file("c.yaml"))).rejects.toMatchObject({
      code: "script-invalid",
      message: expect.stringContaining("txt") as string,
    });
    await expect(loadScript(folder.file("d.yaml"))).rejects.toMatchObject({ code: "script-invalid" });
    await expect(loadScript(folder.file("e.yaml"))).rejects.toMatchObject({ code: "file-unreadable" });
  });
});
