import { describe, expect, test } from "vitest";
import { TurnableClock } from "../../../test/support/turnable-clock.ts";
import type { ActResult } from "../platform.ts";
import { openGrowingAnswer } from "./growing-answer.ts";

function openLab(answer: (index: number) => ActResult = () => ({ ok: true })) {
  const clock = new TurnableClock();
  const log: string[] = [];
  let edits = 0;
  const live = openGrowingAnswer({
    clock,
    rules: { edit_interval: 1, buffer_threshold: 5 },
    head: (text) => text.slice(0, 20),
    post: async (segment, text) => void log.push(`post ${segment}: ${text}`),
    find: () => ({ messageId: "m1" }),
    settle: async (segment, text) => void log.push(`settle ${segment}: ${text}`),
    async edit(_, text) {
      log.push(`edit: ${text}`);
      return answer(edits++);
    },
  });
  const write = async (text: string, ms = 1_000): Promise<void> => {
    live.append(text);
    await clock.advance(ms);
  };
  return { clock, log, live, write };
}

describe("an answer that grows", () => {
  test("is posted once it has a few words, then edited, and never to what it already shows", async () => {
    const { log, write, live } = openLab();
    await write("Hi");
    expect(log).toEqual([]);
    await write(" there");
    await write("");
    await write(", how are you doing today?");
    await write(" And tomorrow?");
    expect(log).toEqual(["post 0: Hi there", "edit: Hi there, how are yo"]);
    expect(await live.close()).toEqual({
      segment: 0,
      text: "Hi there, how are you doing today? And tomorrow?",
    });
  });

  test("ends with a call, and what follows is a message of its own", async () => {
    const { log, write, live } = openLab();
    await write("Let me look");
    live.append(" into it.");
    await live.endSegment();
    await live.endSegment();
    live.append("ok");
    await live.endSegment();
    await write("It is fine");
    expect(log).toEqual([
      "post 0: Let me look",
      "settle 0: Let me look into it.",
      "post 1: ok",
      "post 2: It is fine",
    ]);
    expect(await live.close()).toEqual({ segment: 2, text: "It is fine" });
  });

  test("K9: refused edits are asked for more and more rarely, and then not at all", async () => {
    const { log, write, live } = openLab(() => ({ ok: false, retryAfterMs: 5_000 }));
    await write("0 first words");
    for (let second = 1; second < 120; second++) await write(`${second}`);
    expect(log.filter((line) => line.startsWith("edit"))).toHaveLength(3);
    await live.close();
  });

  test("begins again when the request is repeated", async () => {
    const { log, write, live } = openLab();
    await write("A wrong beginning");
    live.restart();
    await write("The right one");
    expect(log).toEqual(["post 0: A wrong beginning", "edit: The right one"]);
    await live.close();
  });
});
