import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ScriptInput } from "../../src/providers/scripted/script.ts";
import { openGatewayHome } from "../support/gateway-lab.ts";
import { startScriptedService } from "../support/scripted-service.ts";
import { mayMount } from "../support/small-disk.ts";

const canMount = await mayMount();
const DISK_BYTES = 8 * 1024 * 1024;
const person = (id: string) => ({
  chat: { chatId: id, type: "dm" as const },
  sender: { id, isBot: false, isProven: true },
});

async function open(script: ScriptInput, more: object = {}) {
  const service = await startScriptedService();
  const home = await openGatewayHome(
    script,
    { platforms: { scripted: { address: service.address, allow_all_users: true } }, ...more },
    { diskBytes: DISK_BYTES },
  );
  if (home.disk === undefined) throw new Error("the home has no disk of its own");
  return {
    service,
    home,
    disk: home.disk,
    status: async () => (await home.hermes(["gateway", "status"])).stdout,
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

test.skipIf(!canMount)(
  `A21, K27: on a full disk no message is acknowledged or lost, the gateway says so, and everything is answered once when there is space again${canMount ? "" : " [skipped: may not mount]"}`,
  async () => {
    await using lab = await open(
      {
        turns: [
          {
            when: "slow",
            answers: [
              { tools: [{ name: "terminal", input: { command: "until [ -e go ]; do sleep 0.05; done" } }] },
              { text: "slow and done" },
            ],
          },
          { when: "gateway was restarted", answers: [{ text: "slow and done" }] },
          { when: "second", answers: [{ text: "the second answer" }] },
        ],
        answers: [{ text: "the first answer" }],
      },
      { approvals: { mode: "off" } },
    );
    const { service, home, disk } = lab;
    await using gateway = await home.run();
    service.write("first", person("anna"));
    expect(await service.texts(1)).toEqual(["the first answer"]);
    service.write("slow", person("ben"));
    await expect
      .poll(() => service.actions.filter(({ chat }) => chat.chatId === "ben").length)
      .toBeGreaterThan(0);

    disk.fill();
    service.write("second", person("cleo"));
    await expect.poll(() => gateway.output()).toContain("nothing can be stored");
    writeFileSync(join(home.folder, "go"), ""); // the call of the turn ends, and cannot be stored
    const full = await lab.status();
    expect(full).toMatch(/gateway +running, process \d+/);
    expect(full).toMatch(/storage +cannot be written \(ENOSPC/);
    expect(service.unacknowledged).toBe(1);
    expect(service.delivered).toHaveLength(1);

    service.cut(); // the service delivers the message again
    disk.free();
    const texts = await service.texts(3);
    expect(texts.toSorted()).toEqual(["slow and done", "the first answer", "the second answer"]);
    await expect.poll(() => service.unacknowledged).toBe(0);
    expect(gateway.output()).toContain("everything is stored again");
    expect(await lab.status()).not.toContain("storage");
    gateway.signal("SIGTERM");
    expect(await gateway.ended).toBe(0);
    expect(service.delivered).toHaveLength(3);
  },
);

test.skipIf(!canMount)(
  `A21: a part that was sent when the disk was full is recorded later, and a stop does not wait for space${canMount ? "" : " [skipped: may not mount]"}`,
  async () => {
    await using lab = await open({ answers: [{ text: "one" }, { text: "two" }] });
    const { service, home, disk } = lab;
    const first = await home.run();
    service.onSend(() => {
      disk.fill(); // it reaches the chat, and its row cannot be written
      return undefined;
    });
    service.write("hello");
    await service.texts(1);
    service.onSend(() => undefined);
    await expect.poll(() => first.output()).toContain("nothing can be stored");
    first.signal("SIGTERM");
    expect(await first.ended).toBe(0);
    disk.free();
    await using _second = await home.run();
    service.write("again");
    await expect.poll(() => service.delivered.length).toBeGreaterThan(1);
    expect(service.delivered.map(({ text }) => text)).toEqual(["one", "two"]);
    expect((await home.hermes(["gateway", "messages", "1"])).stdout).toMatch(/sent/);
  },
);
