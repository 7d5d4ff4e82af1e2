import { once } from "node:events";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { openDashboardLab } from "../../../test/support/dashboard-lab.ts";
import { TurnableClock } from "../../../test/support/turnable-clock.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import type { TerminalNotice, TerminalTicket } from "../contract/machines/terminals.ts";
import type { DashboardData } from "../dashboard/dashboard-parts.ts";
import type { StartTerminal, TerminalListener } from "./terminal-process.ts";

const WANTED = { kind: "chat", profile: "default", columns: 80, rows: 24 };
const FLOOD = Buffer.alloc(8 * 1024, "x");

/** A program that the test speaks for, and what it gets. */
function createProgram() {
  const state = { isPaused: false, isEnded: false, input: "", size: "" };
  let listener: TerminalListener | undefined;
  const start: StartTerminal = async (_, given) => {
    listener = given;
    return {
      write(input) {
        state.input += input.toString();
      },
      resize(columns, rows) {
        state.size = `${columns}x${rows}`;
      },
      pause() {
        state.isPaused = true;
      },
      resume() {
        state.isPaused = false;
      },
      async end() {
        state.isEnded = true;
      },
    };
  };
  return {
    start,
    state,
    print: (text: string | Buffer) => listener?.onOutput(Buffer.from(text)),
    exit: (code: number) => listener?.onExit(code),
  };
}

async function openTerminalLab(clock?: TurnableClock) {
  const program = createProgram();
  const data = { startTerminal: program.start } as DashboardData;
  const lab = await openDashboardLab({}, { data, ...(clock && { clock }) });
  const cookie = await lab.signIn();
  const post = async (path: string, json: unknown, as = cookie): Promise<TerminalTicket> => {
    const answer = await lab.send(path, { json, method: "POST", headers: { Cookie: as } });
    expect([answer.status, answer.text]).toEqual([201, answer.text]);
    return JSON.parse(answer.text) as TerminalTicket;
  };
  /** Opens a socket as a page does. */
  const connect = async (
    { id, ticket }: TerminalTicket,
    { as = cookie, origin = lab.url }: { readonly as?: string; readonly origin?: string } = {},
  ) => {
    const address = `${lab.url.replace("http", "ws")}/api/terminals/${id}?ticket=${ticket}`;
    const socket = new WebSocket(address, { headers: { Cookie: as }, origin });
    const notices: TerminalNotice[] = [];
    const page = {
      socket,
      notices,
      text: "",
      closed: once(socket, "close").then(([code]) => code as number),
    };
    socket.on("message", (message: Buffer, isBinary) => {
      if (isBinary) page.text += message.toString();
      else notices.push(JSON.parse(message.toString()) as TerminalNotice);
    });
    await once(socket, "open");
    return page;
  };
  return {
    ...{ lab, program, cookie, connect, post },
    open: (as?: string) => post("/api/terminals", WANTED, as),
    again: (id: string, as?: string) => post(`/api/terminals/${id}/tickets`, undefined, as),
    async [Symbol.asyncDispose]() {
      await lab[Symbol.asyncDispose]();
    },
  };
}

test("A14: a socket without a ticket, or with one that was used, is late or belongs to another sign-in, is closed with 4401", async () => {
  const clock = new TurnableClock();
  await using terminals = await openTerminalLab(clock);
  const { id, ticket } = await terminals.open();
  expect(await (await terminals.connect({ id, ticket: "" })).closed).toBe(4401);
  const page = await terminals.connect({ id, ticket });
  await expect.poll(() => page.notices).toEqual([{ type: "screen", columns: 80, rows: 24 }]);
  expect(await (await terminals.connect({ id, ticket })).closed).toBe(4401);
  const late = await terminals.again(id);
  await clock.advance(30_000);
  expect(await (await terminals.connect(late)).closed).toBe(4401);
  const other = await terminals.lab.signIn();
  expect(await (await terminals.connect(await terminals.again(id), { as: other })).closed).toBe(4401);
  expect(await (await terminals.connect(await terminals.again(id), { as: "" })).closed).toBe(4401);
  expect(page.socket.readyState).toBe(WebSocket.OPEN);
  expect(await terminals.lab.readAudit()).toContain("ticket-invalid");
});

test("A10, A13: a socket of another page is closed with 4403, and a sign-in without the scope shell gets no ticket", async () => {
  await using terminals = await openTerminalLab();
  const opened = await terminals.open();
  expect(await (await terminals.connect(opened, { origin: "http://evil.example" })).closed).toBe(4403);
  const reader = await terminals.lab.signIn(["read", "work", "admin"]);
  const path = `/api/terminals/${opened.id}/tickets`;
  const answer = await terminals.lab.send(path, { method: "POST", headers: { Cookie: reader } });
  expect([answer.status, answer.json()["code"]]).toEqual([403, "scope-missing"]);
});

test("64 kB of output that the page has not processed stop the reader until it has", async () => {
  await using terminals = await openTerminalLab();
  const page = await terminals.connect(await terminals.open());
  const { program } = terminals;
  await expect.poll(() => page.notices.length).toBe(1);
  for (let sent = 0; sent < 8; sent++) program.print(FLOOD);
  expect(program.state.isPaused).toBe(false);
  program.print("one byte more");
  expect(program.state.isPaused).toBe(true);
  page.socket.send(JSON.stringify({ type: "read", bytes: 64 * 1024 }));
  await expect.poll(() => program.state.isPaused).toBe(false);
});

test("B16: after a lost connection the screen is restored, input goes on, and only one of page and server answers the program", async () => {
  await using terminals = await openTerminalLab();
  const opened = await terminals.open();
  const { program } = terminals;
  program.print("before \u001b[6n"); // asks where the cursor is, before any page is there
  await expect.poll(() => program.state.input).toBe("\u001b[1;8R");
  const first = await terminals.connect(opened);
  await expect.poll(() => first.text).toContain("before");
  first.socket.send(Buffer.from("typed"));
  first.socket.send(JSON.stringify({ type: "resize", columns: 100, rows: 30 }));
  await expect.poll(() => program.state.size).toBe("100x30");
  first.socket.terminate();
  await first.closed;
  program.print("\r\n\u001b[31mwhile away\u001b[0m");
  const second = await terminals.connect(await terminals.again(opened.id));
  await expect.poll(() => second.text).toMatch(/before[\s\S]*while away/);
  expect(second.notices).toEqual([{ type: "screen", columns: 100, rows: 30 }]);
  const third = await terminals.connect(await terminals.again(opened.id));
  expect(await second.closed).toBe(4409);
  await expect.poll(() => third.notices.length).toBe(1);
  program.print("\u001b[6n");
  await expect.poll(() => third.text).toContain("\u001b[6n");
  expect(program.state.input).toBe("\u001b[1;8Rtyped");
  expect(program.state.isEnded).toBe(false);
});

test("closing a terminal ends its program and its socket, and the end of the program is reported once", async () => {
  await using terminals = await openTerminalLab();
  const opened = await terminals.open();
  const page = await terminals.connect(opened);
  const headers = { Cookie: terminals.cookie };
  const closed = await terminals.lab.send(`/api/terminals/${opened.id}`, { method: "DELETE", headers });
  expect(closed.status).toBe(204);
  expect(await page.closed).toBe(4410);
  expect(terminals.program.state.isEnded).toBe(true);
  const second = await terminals.open();
  terminals.program.print("last words");
  terminals.program.exit(3);
  const late = await terminals.connect(second);
  expect(await late.closed).toBe(4410);
  expect(late.text).toContain("last words");
  expect(late.notices.at(-1)).toEqual({ type: "exit", code: 3 });
  const gone = await terminals.lab.send(`/api/terminals/${second.id}/tickets`, { method: "POST", headers });
  expect(gone.status).toBe(404);
});

test("a flood that no page shows is read slowly, and signing out closes the socket", async () => {
  await using terminals = await openTerminalLab();
  const opened = await terminals.open();
  const { program } = terminals;
  for (let sent = 0; sent < 32; sent++) program.print(FLOOD);
  expect(program.state.isPaused).toBe(true);
  const page = await terminals.connect(opened);
  await expect.poll(() => page.notices.length).toBe(1);
  await terminals.lab.send("/api/sign-out", { method: "POST", headers: { Cookie: terminals.cookie } });
  expect(await page.closed).toBe(4401);
});

test("a socket is closed when its sign-in was ended from elsewhere, and what it sends then reaches no program", async () => {
  await using terminals = await openTerminalLab();
  const page = await terminals.connect(await terminals.open());
  await expect.poll(() => page.notices.length).toBe(1);
  await terminals.lab.signIns.signOutAll(neverAborted);
  page.socket.send(Buffer.from("typed"));
  expect(await page.closed).toBe(4401);
  expect(terminals.program.state.input).toBe("");
});

test("names with control characters are refused", async () => {
  await using terminals = await openTerminalLab();
  for (const wanted of [
    { ...WANTED, session: "a\u0000b" },
    { ...WANTED, kind: "sandbox", task: "a\nb" },
  ]) {
    const headers = { Cookie: terminals.cookie };
    const answer = await terminals.lab.send("/api/terminals", { json: wanted, headers });
    expect(answer.status).toBe(400);
  }
});
