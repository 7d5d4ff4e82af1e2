import { createHmac } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { freePort } from "../support/free-port.ts";
import { openGatewayHome } from "../support/gateway-lab.ts";
import { openMailPerson, uniqueAddress } from "../support/mail-person.ts";
import { describeWith } from "../support/services.ts";
import { startTelegramServer } from "../support/telegram-server.ts";

const SECRET = "secret-of-the-hook";
const SCRIPT = {
  turns: [
    { when: "by telegram", answers: [{ text: "Answered in the chat." }] },
    { when: "by mail", answers: [{ text: "Answered in the thread." }] },
    { when: "The build is", answers: [{ text: "Red again." }] },
  ],
  answers: [],
};

interface MessageJson {
  readonly state: string;
  readonly message: { readonly sender: { readonly id: string } };
}

describeWith("mail", "the gateway on email, Telegram and webhooks", (server) => {
  test("K21: each platform answers its people, an unsigned request and strangers get nothing, and no secret is in the logs", async () => {
    await using telegram = await startTelegramServer();
    const bot = uniqueAddress("bot", "bots.test.invalid");
    const anna = await openMailPerson(server, uniqueAddress("anna", server.signingDomain));
    const stranger = await openMailPerson(server, uniqueAddress("eve", server.signingDomain));
    const port = await freePort();
    const deliver = { platform: "telegram", chat: "1001" };
    await using home = await openGatewayHome(SCRIPT, {
      platforms: {
        email: {
          address: bot,
          imap_host: server.host,
          imap_port: server.imapPort,
          smtp_host: server.host,
          smtp_port: server.smtpPort,
          use_tls: false,
          authserv_id: server.authservId,
          allowed_users: [anna.address],
        },
        telegram: { base_url: telegram.url, allowed_users: ["1001"] },
        webhook: {
          port,
          routes: [{ name: "build", verify: "generic", prompt: "The build is {state}", deliver }],
        },
      },
    });
    const variables = {
      EMAIL_PASSWORD: server.password,
      TELEGRAM_BOT_TOKEN: telegram.token,
      WEBHOOK_SECRET: SECRET,
    };
    const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}\n`);
    await writeFile(join(home.path, ".env"), lines.join(""), { mode: 0o600 });
    await using gateway = await home.run();
    for (const platform of ["email", "telegram", "webhook"]) await home.connected(platform);

    telegram.write("a question by telegram");
    expect(await telegram.texts(1)).toEqual(["Answered in the chat."]);
    await stranger.write({ to: bot, subject: "Hi", text: "a question by mail" });
    await anna.write({ to: bot, subject: "Hello", text: "a question by mail" });
    const [mail] = await anna.received(1);
    expect(mail).toMatchObject({ subject: "Re: Hello", text: "Answered in the thread.\n" });
    const messages = (await home.hermes(["gateway", "messages", "--json"])).json<MessageJson[]>();
    expect(messages.map(({ state, message }) => [message.sender.id, state])).toContainEqual([
      stranger.address,
      "refused",
    ]);

    const body = '{"state":"red"}';
    const time = String(Math.floor(Date.now() / 1_000));
    const signature = createHmac("sha256", SECRET).update(`${time}.${body}`).digest("hex");
    const post = async (headers: Record<string, string>): Promise<number> =>
      (await fetch(`http://127.0.0.1:${port}/webhooks/build`, { method: "POST", body, headers })).status;
    expect(await post({})).toBe(401);
    expect(await post({ "x-webhook-timestamp": time, "x-webhook-signature-v2": signature })).toBe(202);
    expect(await telegram.texts(2)).toEqual(["Answered in the chat.", "Red again."]);

    gateway.signal("SIGTERM");
    expect(await gateway.ended).toBe(0);
    const logs = (await home.hermes(["logs", "--lines", "500"])).stdout + gateway.output();
    for (const secret of Object.values(variables)) expect(logs).not.toContain(secret);
  });
});
