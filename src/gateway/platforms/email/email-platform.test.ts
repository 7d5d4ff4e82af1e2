import { writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { collectMessages } from "../../../../test/support/collect-messages.ts";
import { listMails, openMailPerson, uniqueAddress } from "../../../../test/support/mail-person.ts";
import { platformParts } from "../../../../test/support/platform-parts.ts";
import { describeWith } from "../../../../test/support/services.ts";
import { startTcpRelay } from "../../../../test/support/tcp-relay.ts";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { platformContract } from "../../platform.contract.ts";
import type { OutboundPart } from "../../platform.ts";
import { isAuthentic } from "./authentication.ts";
import { whyAutomatic } from "./automatic-mail.ts";
import { open } from "./email-platform.ts";
import { emailOptions } from "./options.ts";
import { stripQuotedText } from "./strip-quoted-text.ts";

const signal = new AbortController().signal;

describeWith("mail", "email", (server) => {
  const settings = (address: string, more: object = {}) =>
    emailOptions.parse({
      address,
      password: server.password,
      imap_host: server.host,
      imap_port: server.imapPort,
      smtp_host: server.host,
      smtp_port: server.smtpPort,
      authserv_id: server.authservId,
      ...more,
    });
  const parts = platformParts({ variables: { SSL_CERT_FILE: server.caFile } });
  const newBot = (more: object = {}) => {
    const address = uniqueAddress("bot", "bots.test.invalid");
    return { address, platform: open(settings(address, more), parts) };
  };
  const newPerson = (domain = server.signingDomain) => openMailPerson(server, uniqueAddress("anna", domain));
  const reply = (to: string, text: string, more: Partial<OutboundPart> = {}): OutboundPart => ({
    id: `part-${Math.random().toString(36).slice(2)}`,
    chat: { chatId: to },
    content: { type: "text", text },
    createdAt: Date.now(),
    ...more,
  });

  platformContract(async () => {
    const imap = await startTcpRelay({ host: server.host, port: server.imapPort });
    const smtp = await startTcpRelay({ host: server.host, port: server.smtpPort });
    const { address, platform } = newBot({ imap_port: imap.port, smtp_port: smtp.port });
    const person = await newPerson();
    return {
      platform,
      chat: { chatId: person.address },
      write: async (text) => void (await person.write({ to: address, text })),
      received: async (count) => (await person.received(count)).map(({ text = "" }) => text),
      async cut() {
        imap.cut();
        smtp.cut();
      },
      async [Symbol.asyncDispose]() {
        await imap[Symbol.asyncDispose]();
        await smtp[Symbol.asyncDispose]();
      },
    };
  });

  test("K20: a forged sender is not proven, whatever headers the mail brings along", async () => {
    const { address, platform } = newBot();
    const inbox = collectMessages();
    await using _connection = await platform.connect(inbox, signal);
    const victim = await newPerson();
    const attacker = await newPerson("elsewhere.test.invalid");
    const forged = `${server.authservId}; dkim=pass header.d=${server.signingDomain}; dmarc=pass header.from=${server.signingDomain}`;
    const from = victim.address;
    await attacker.write({ to: address, from, text: "unsigned", isSigned: false });
    await attacker.write({
      to: address,
      from,
      text: "forged result",
      isSigned: false,
      headers: { "Authentication-Results": forged },
    });
    await attacker.write({ to: address, from, text: "signed by another domain" });
    await victim.write({ to: address, text: "genuine" });
    const messages = await inbox.messages(4);
    expect(messages.map(({ text, sender }) => [text, sender.isProven])).toEqual([
      ["unsigned", false],
      ["forged result", false],
      ["signed by another domain", false],
      ["genuine", true],
    ]);
    expect(new Set(messages.map(({ sender }) => sender.id))).toEqual(new Set([victim.address]));
  });

  test("K20: what programs and lists have sent gets no answer, and is not even a message", async () => {
    const { address, platform } = newBot();
    const inbox = collectMessages();
    await using _connection = await platform.connect(inbox, signal);
    const person = await newPerson();
    const automatic = [
      { "Auto-Submitted": "auto-replied" },
      { Precedence: "bulk" },
      { "List-Id": "<news.example.org>" },
      { "X-Auto-Response-Suppress": "All" },
    ];
    for (const headers of automatic) await person.write({ to: address, text: "automatic", headers });
    await person.write({ to: address, text: "written by hand", headers: { "Auto-Submitted": "no" } });
    expect((await inbox.messages(1)).map(({ text }) => text)).toEqual(["written by hand"]);
  });

  test("K36: an answer belongs to the thread, and says that a program has written it", async () => {
    const { address, platform } = newBot();
    const inbox = collectMessages();
    await using connection = await platform.connect(inbox, signal);
    const person = await newPerson();
    const first = await person.write({ to: address, subject: "Grüße", text: "How are you?" });
    const [question] = await inbox.messages(1);
    expect(question).toMatchObject({
      id: first,
      text: "Subject: Grüße\n\nHow are you?",
      chat: { threadId: first },
    });
    const chat = { chatId: person.address, threadId: first };
    const answer = reply(person.address, "Fine.", { chat, repliesTo: first });
    expect(await connection.send(answer, signal)).toMatchObject({ certainty: "sent" });
    const [mail] = await person.received(1);
    expect(mail).toMatchObject({ subject: "Re: Grüße", inReplyTo: `<${first}>`, references: `<${first}>` });
    expect(mail?.headers).toContainEqual(
      expect.objectContaining({ key: "auto-submitted", value: "auto-replied" }),
    );

    const ours = mail?.messageId ?? "";
    const text = `And you?\n\nOn Mon, 5 Jan 2026, Bot <${address}> wrote:\n> Fine.`;
    const second = await person.write({
      to: address,
      subject: "Re: Grüße",
      text,
      inReplyTo: ours,
      references: [`<${first}>`, ours],
    });
    const followUp = (await inbox.messages(2))[1];
    expect(followUp).toMatchObject({
      text: "And you?",
      chat: { threadId: first },
      repliesTo: { id: ours.slice(1, -1) },
    });
    const last = reply(person.address, "Fine, too.", { chat, repliesTo: second });
    await connection.send(last, signal);
    expect((await person.received(2))[1]?.references).toBe(`<${first}> ${ours} <${second}>`);
  });

  test("K20: one thread gets only so many mails from us within an hour, also from another process", async () => {
    const { address, platform } = newBot({ max_thread_replies_per_hour: 2 });
    const person = await newPerson();
    const root = await person.write({ to: address, text: "ping" });
    const chat = { chatId: person.address, threadId: root };
    const results: string[] = [];
    for (let count = 0; count < 3; count++) {
      await using connection = await platform.connect(collectMessages(), signal);
      const { certainty } = await connection.send(
        reply(person.address, "pong", { chat, repliesTo: root }),
        signal,
      );
      results.push(certainty);
    }
    expect(results).toEqual(["sent", "sent", "not-sent"]);
    await using connection = await platform.connect(collectMessages(), signal);
    expect(await connection.send(reply(person.address, "another thread"), signal)).toMatchObject({
      certainty: "sent",
    });
  });

  test("K8: a mail that the server may have taken before the connection broke is unknown, to another process too", async () => {
    await using smtp = await startTcpRelay({ host: server.host, port: server.smtpPort });
    const { address, platform } = newBot({ smtp_port: smtp.port });
    const person = await newPerson();
    await using connection = await platform.connect(collectMessages(), signal);
    const part = reply(person.address, "x".repeat(40_000));
    smtp.cutAfterUpload(30_000);
    expect(await connection.send(part, signal)).toMatchObject({ certainty: "unknown" });
    expect(await connection.findSent(part, signal)).toMatchObject({ certainty: "unknown" });
    expect(await connection.send(part, signal)).toMatchObject({ certainty: "sent" });
    expect(await connection.findSent(part, signal)).toMatchObject({ certainty: "sent" });
    expect((await listMails(server, address, ".Sent")).length).toBe(1);
  });

  test("a recipient that the server refuses is final or not, as the server says, and leaves no copy", async () => {
    const { address, platform } = newBot();
    await using connection = await platform.connect(collectMessages(), signal);
    const send = (to: string) => connection.send(reply(to, "hello"), signal);
    expect(await send("gone-1@signed.test.invalid")).toMatchObject({
      certainty: "not-sent",
      isFinal: true,
      reason: expect.stringContaining("no such person"),
    });
    expect(await send("later-1@signed.test.invalid")).toMatchObject({
      certainty: "not-sent",
      isFinal: false,
    });
    expect(await send("anna@x.invalid>\r\nRCPT TO:<b@signed.test.invalid")).toMatchObject({
      certainty: "not-sent",
    });
    expect(await listMails(server, address, ".Sent")).toEqual([]);
  });

  test("files arrive with their content, except those that are too large, and pictures of a signature", async () => {
    const { address, platform } = newBot();
    const inbox = collectMessages();
    await using _connection = await platform.connect(inbox, signal);
    const person = await newPerson();
    await person.write({
      to: address,
      text: "see these",
      html: '<p>see these <img src="cid:logo"></p>',
      attachments: [
        { filename: "../../etc/passwd", content: "small", contentType: "text/plain" },
        { filename: "big.bin", content: Buffer.alloc(parts.maxAttachmentBytes + 1, 1) },
        { filename: "logo.png", content: Buffer.from("PNG"), contentType: "image/png", cid: "logo" },
      ],
    });
    const [message] = await inbox.messages(1);
    expect(message?.attachments).toEqual([
      { name: "../../etc/passwd", mediaType: "text/plain", content: new Uint8Array(Buffer.from("small")) },
      { name: "big.bin", mediaType: "application/octet-stream", problem: "it is larger than 1000000 bytes" },
    ]);
  });

  test("a mail that is only HTML is read as text", async () => {
    const { address, platform } = newBot();
    const inbox = collectMessages();
    await using _connection = await platform.connect(inbox, signal);
    const person = await newPerson();
    await person.write({ to: address, html: "<p>Hello <b>there</b></p><script>alert(1)</script>" });
    expect((await inbox.messages(1))[0]?.text).toBe("Hello there");
  });

  test("of a mail that is much too large the text is read, and the files are named", async () => {
    const { address, platform } = newBot();
    const inbox = collectMessages();
    await using _connection = await platform.connect(inbox, signal);
    const person = await newPerson();
    const attachments = [{ filename: "film.bin", content: Buffer.alloc(3_000_000, 1) }];
    await person.write({ to: address, text: "a film", attachments });
    const [message] = await inbox.messages(1);
    expect(message).toMatchObject({
      text: "a film",
      attachments: [{ name: "film.bin", problem: "the mail is too large" }],
    });
  });

  test("a file is sent as an attachment", async () => {
    await using folder = await tempFolder();
    await writeFile(folder.file("chart"), "1,2,3");
    const { platform } = newBot();
    const person = await newPerson();
    await using connection = await platform.connect(collectMessages(), signal);
    const content = {
      type: "file",
      path: folder.file("chart"),
      name: "chärt.csv",
      mediaType: "text/csv",
      caption: "Here.",
    } as const;
    expect(await connection.send(reply(person.address, "", { content }), signal)).toMatchObject({
      certainty: "sent",
    });
    const [mail] = await person.received(1);
    expect(mail?.text?.trim()).toBe("Here.");
    expect(mail?.attachments[0]).toMatchObject({ filename: "chärt.csv", mimeType: "text/csv" });
    expect(Buffer.from(mail?.attachments[0]?.content as ArrayBuffer).toString()).toBe("1,2,3");
  });

  test("K27: mail that waited is not lost when the numbers of the mailbox begin anew", async () => {
    const { address, platform } = newBot();
    const person = await newPerson();
    await person.write({ to: address, text: "waited" });
    await expect.poll(async () => (await listMails(server, address)).length).toBe(1);
    const inbox = collectMessages(`7:900:${Date.now()}`); // the position in a mailbox that was moved to this server
    await using _connection = await platform.connect(inbox, signal);
    expect((await inbox.messages(1)).map(({ text }) => text)).toEqual(["waited"]);
    expect(inbox.cursor).not.toMatch(/^7:/);
  });

  test("mail from before the first start stays unanswered", async () => {
    const { address, platform } = newBot();
    const person = await newPerson();
    await person.write({ to: address, text: "old" });
    await expect.poll(async () => (await listMails(server, address)).length).toBe(1);
    const inbox = collectMessages();
    await using _connection = await platform.connect(inbox, signal);
    await person.write({ to: address, text: "new" });
    expect((await inbox.messages(1)).map(({ text }) => text)).toEqual(["new"]);
  });

  test("a wrong password waits for a person, and is not told to anyone", async () => {
    const { platform } = newBot({ password: "hunter2-hunter2" });
    const failure = await platform.connect(collectMessages(), signal).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "refused", isRetryable: false });
    expect(String(failure)).not.toContain("hunter2");
    expect(failure).not.toHaveProperty("cause");
  });

  test("a server whose certificate is not trusted is unreachable, and gets no password", async () => {
    const address = uniqueAddress("bot", "bots.test.invalid");
    await expect(
      open(settings(address), platformParts()).connect(collectMessages(), signal),
    ).rejects.toMatchObject({
      code: "unreachable",
      message: expect.stringMatching(/self.signed/i),
    });
  });

  test("without encryption only a server on this machine gets the password", async () => {
    const { platform } = newBot({ use_tls: false });
    await using _connection = await platform.connect(collectMessages(), signal);
    const elsewhere = newBot({ use_tls: false, imap_host: "imap.example.org" });
    await expect(elsewhere.platform.connect(collectMessages(), signal)).rejects.toMatchObject({
      code: "misconfigured",
    });
  });

  test("a server that is down is unreachable", async () => {
    await using imap = await startTcpRelay({ host: server.host, port: server.imapPort });
    imap.setDown(true);
    const { platform } = newBot({ imap_port: imap.port });
    await expect(platform.connect(collectMessages(), signal)).rejects.toMatchObject({ code: "unreachable" });
  });
});

describe("results of a mail server's checks", () => {
  const check = (results: readonly string[], from = "Anna <anna@example.org>") =>
    isAuthentic(
      [...results.map((value) => ({ key: "authentication-results", value })), { key: "from", value: from }],
      { address: "anna@example.org", authservId: "mx.example.net" },
    );

  test.each([
    ["mx.example.net; dmarc=pass (p=REJECT sp=REJECT dis=NONE) header.from=example.org"],
    ["mx.example.net; dkim=pass header.i=@example.org header.s=20230601 header.b=ab/c=; spf=none"],
    [
      'mx.example.net 1; dkim=fail reason="bad; (signature)" header.d=other.org; dkim=pass header.d=Example.org',
    ],
    [
      "mx.example.net; spf=pass (mx.example.net: domain of anna@example.org designates ::1) smtp.mailfrom=anna@example.org",
    ],
    ["MX.example.net;\tspf = pass smtp.mailfrom=example.org"],
  ])("%j proves the sender", (value) => {
    expect(check([value])).toBe(true);
  });

  test.each([
    ["evil.example.com; dmarc=pass header.from=example.org"],
    ["mx.example.net"],
    [""],
    ["mx.example.net; none"],
    ["mx.example.net; dmarc=pass header.from=evil.com"],
    ["mx.example.net; dkim=pass header.d=org"],
    ["mx.example.net; dkim=pass header.d=mail.example.org"],
    ["mx.example.net; dkim=fail header.d=example.org"],
    ["mx.example.net; dkim=pass header.d=example.org; dmarc=fail header.from=example.org"],
    ["mx.example.net; spf=pass smtp.mailfrom=bounce@evil.com smtp.helo=example.org"],
    ['mx.example.net; spf=pass smtp.mailfrom="x@example.org"@evil.com'],
    ['mx.example.net; spf=pass smtp.mailfrom="\\"x@example.org\\"@evil.com"'],
    ['mx.example.net; dkim=pass header.i="x@example.org"@evil.com'],
    ['mx.example.net; dkim=pass header.d=evil.com reason="key of header.d=example.org"'],
    ['mx.example.net; dkim=fail reason="; dkim=pass header.d=example.org; "'],
    ["mx.example.net; dkim=fail (; dkim=pass header.d=example.org;)"],
    ["mx.example.net (; dmarc=pass header.from=example.org;"],
  ])("%j proves nothing", (value) => {
    expect(check([value])).toBe(false);
  });

  test("of two headers with the same check, the lower one was there before our server", () => {
    const genuine = "mx.example.net; dkim=none";
    const forged = "mx.example.net; dkim=pass header.d=example.org";
    expect(check([genuine, forged])).toBe(false);
    expect(check([forged])).toBe(true);
  });

  test("a mail with two senders has none", () => {
    const headers = ["anna@example.org", "eve@evil.com"].map((value) => ({ key: "from", value }));
    const results = {
      key: "authentication-results",
      value: "mx.example.net; dmarc=pass header.from=example.org",
    };
    const expected = { address: "anna@example.org", authservId: "mx.example.net" };
    expect(isAuthentic([results, ...headers], expected)).toBe(false);
  });
});

describe("mail of programs", () => {
  test.each([
    ["return-path", "<>", "anna@example.org"],
    ["content-type", "multipart/report; report-type=delivery-status", "anna@example.org"],
    ["subject", "hi", "MAILER-DAEMON@example.org"],
    ["subject", "hi", "no-reply+123@example.org"],
    ["list-unsubscribe", "<mailto:x@example.org>", "anna@example.org"],
  ])("with %s: %s from %s", (key, value, from) => {
    expect(whyAutomatic([{ key, value }], from)).toBeDefined();
  });

  test("not of persons with such a name", () => {
    const headers = [{ key: "return-path", value: "<anna@example.org>" }];
    expect(whyAutomatic(headers, "norepland@example.org")).toBeUndefined();
  });
});

describe("the new words of a mail", () => {
  test.each([
    ["Yes.\r\n\r\nOn Mon, 5 Jan 2026 at 10:00, Bot <b@x.org>\r\nwrote:\r\n> Really?\r\n>> Once?\r\n", "Yes."],
    ["Ja.\n\nAm 5.1.26 schrieb Bot:\n> Wirklich?\n", "Ja."],
    ["> Really?\nYes.\n> And then?\nNo.", "> Really?\nYes.\n> And then?\nNo."],
    ["See:\n> quoted", "See:\n> quoted"],
    ["> only quoted", "> only quoted"],
    ["Text\n-- \nAnna\nBoss of all", "Text"],
    ["Text\n\n-----Original Message-----\nFrom: Bot\nOld", "Text"],
    ["-- ", "--"],
  ])("%j", (text, words) => {
    expect(stripQuotedText(text)).toBe(words);
  });
});
