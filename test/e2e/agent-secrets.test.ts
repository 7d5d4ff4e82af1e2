import { execFile } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { ASKING, openApprovalHome } from "../support/approval-home.ts";
import type { HermesRun } from "../support/hermes.ts";
import { startInTerminal } from "../support/pty.ts";
import { startScriptedServer } from "../support/scripted-server.ts";

const run = promisify(execFile);
const call = (name: string, input: Record<string, unknown>) => ({ tools: [{ name, input }] });
const terminal = (command: string) => call("terminal", { command });

/** A key of the profile, in a format that no scanner recognises. */
const OWN = "v7Qm2xTz9LbNw4KcRd8s";
/** A key in a file of the working folder, which can be recognised only by its format. */
const VENDOR = ["ghp", "4fT9kWq2ZxL7mNc8RbV3sHd6Yp1JuEa5Go0i"].join("_");
const SECRETS = [OWN, VENDOR];

/** Ways in which a command or a tool could show the two keys. */
const leaks = [
  terminal("cat token.txt; cat $HERMES_HOME/.env"),
  terminal("printf %s 'ghp_'; sleep 0.3; tail -c +5 token.txt"),
  terminal(`head -c 17 token.txt; sleep 0.3; tail -c +18 token.txt`),
  terminal(
    "for i in $(seq 1 40); do dd if=token.txt bs=1 skip=$((i - 1)) count=1 2>/dev/null; sleep 0.01; done",
  ),
  terminal("head -c 8 $HERMES_HOME/.env; sleep 0.3; tail -c +9 $HERMES_HOME/.env"),
  terminal("yes padding | head -c 65528; cat token.txt"),
  terminal("cat token.txt >&2; exit 3"),
  terminal("$(cat token.txt)"),
  terminal("cat /no/such/$(cat token.txt)"),
  terminal("echo https://user:$(cat token.txt)@example.com/repo.git"),
  terminal('echo "{\\"error\\": \\"bad token $(cat token.txt)\\"}"'),
  terminal("export KEPT=$(cat token.txt); env; set | tail -40"),
  terminal("echo $KEPT"),
  terminal("python3 -c 'raise Exception(open(\"token.txt\").read())'"),
  terminal('touch "$(cat token.txt).name"; ls'),
  call("read_file", { path: "token.txt" }),
  call("search_files", { pattern: "ghp_" }),
  call("search_files", { pattern: "ghp_*", target: "files" }),
  call("patch", { path: "token.txt", old_string: "nothing like it", new_string: "x" }),
  call("terminal", {
    command: "cat token.txt; head -c 17 token.txt; sleep 0.3; tail -c +18 token.txt",
    background: true,
  }),
  call("process", { action: "wait", session_id: "{job}" }),
  call("process", { action: "log", session_id: "{job}" }),
  { text: "done" },
];

async function openSecretHome(approvals: object) {
  const home = await openApprovalHome({}, { ...approvals });
  await writeFile(join(home.path, ".env"), `MY_API_KEY=${OWN}\n`, { mode: 0o600 });
  await writeFile(home.file("token.txt"), `${VENDOR}\n`);
  return home;
}

/** Fails if a text contains one of the keys; `where` describes the text. */
function expectClean(text: string, where: string): void {
  for (const secret of SECRETS) {
    const at = text.indexOf(secret);
    expect(at < 0 ? "" : text.slice(Math.max(0, at - 200), at + 80), where).toBe("");
  }
}

/** Every file of the home except the `.env`, as it is on disk. */
async function filesOf(home: string): Promise<{ path: string; text: string }[]> {
  const entries = await readdir(home, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && entry.name !== ".env");
  return Promise.all(
    files.map(async ({ parentPath, name }) => {
      const path = join(parentPath, name);
      return { path, text: await readFile(path, "latin1") };
    }),
  );
}

test("agent M4: with security.redact_secrets off, the model sees what only looks like a secret, and the person is told", async () => {
  await using home = await openSecretHome({ mode: "off" });
  const show = terminal("cat token.txt; cat $HERMES_HOME/.env");
  await using server = await startScriptedServer({ answers: [show, { text: "done" }] });
  const model = ["--model.base_url", `${server.url}/v1`, "-m", "custom:m"];
  const shown = await home.hermes(["-z", "go", "--security.redact_secrets", "false", ...model], {
    cwd: home.work,
  });
  expect(shown.stderr).toContain("security.redact_secrets is off");
  const request = JSON.stringify(server.requests.at(-1)?.body);
  expect(request).toContain(VENDOR);
  expect(request).not.toContain(OWN);
  expectClean(await readFile(join(home.path, "logs", "agent.log"), "utf8"), "the log");
});

test("agent K6, M4: no log, transcript, export, event, error, screen or request contains a key that a command printed", async () => {
  await using home = await openSecretHome({});
  await using server = await startScriptedServer({ answers: leaks });
  const model = ["--model.base_url", `${server.url}/v1`, "-m", "custom:m"];
  const outputs: { where: string; run: HermesRun }[] = [];
  const hermes = async (...args: readonly string[]) => {
    const ended = await home.hermes(args, { cwd: home.work });
    outputs.push({ where: args.join(" "), run: ended });
    return ended;
  };
  const events = await hermes("-z", "go", "--json", "--yolo", "--logging.level", "debug", ...model);
  expect(events.exitCode, events.stderr).toBe(0);
  expect(events.stdout).toContain("«redacted:"); // otherwise nothing was shown at all
  await using again = await startScriptedServer({ answers: leaks });
  const watched = ["--model.base_url", `${again.url}/v1`, "-m", "custom:m"];
  await hermes("chat", "-q", "go", "--yolo", ...watched);
  const env = { PATH: process.env["PATH"] ?? "", HOME: home.folder, HERMES_HOME: home.path, TERM: "xterm" };
  await using third = await startScriptedServer({ answers: leaks });
  const seen = ["--model.base_url", `${third.url}/v1`, "-m", "custom:m"];
  using session = await startInTerminal(["chat", "-q", "go", "--yolo", ...seen], { env, cwd: home.work });
  expect(await session.exitCode(), session.screen()).toBe(0);
  expectClean(session.screen(), "the screen");
  await hermes("sessions", "show", "latest");
  await hermes("sessions", "show", "latest", "--json");
  await hermes("sessions", "export", "latest");
  await hermes("sessions", "search", "ghp");
  await hermes("logs", "--lines", "5000");
  await hermes("logs", "errors");
  await hermes("audit");
  await hermes("audit", "--json");
  await hermes("why", "call_", "--json");
  for (const { where, run: ended } of outputs) {
    expect(ended.exitCode, `${where}: ${ended.stderr}`).toBe(0);
    expectClean(ended.stdout, `standard output of hermes ${where}`);
    expectClean(ended.stderr, `standard error of hermes ${where}`);
  }
  for (const { body } of [...server.requests, ...again.requests, ...third.requests])
    expectClean(JSON.stringify(body), "a request to the model");
  expect(server.requests).toHaveLength(leaks.length);
  const leaking = (await filesOf(home.path)).filter(({ text }) => SECRETS.some((one) => text.includes(one)));
  expect(leaking.map(({ path }) => path)).toEqual([]);
  // Written and executed text is unchanged.
  expect(await readFile(home.file("token.txt"), "utf8")).toBe(`${VENDOR}\n`);
  expect((await run("ls", [home.work])).stdout).toContain(`${VENDOR}.name`);
});

test("agent K6: a question, its rules, its evidence and its prompt do not show a key that the command contains", async () => {
  const command = `echo ran ${OWN} ${VENDOR} >> ran.txt`;
  await using home = await openSecretHome(ASKING);
  await writeFile(home.scriptPath, JSON.stringify({ answers: [terminal(command), { text: "done" }] }));
  const { ended } = home.start(["-z", "go"]);
  const { id } = await home.question();
  const shown = [
    await home.hermes(["approvals", "list"]),
    await home.hermes(["approvals", "list", "--json"]),
    await home.hermes(["approvals", "approve", id, "--json"]),
    await ended,
    await home.hermes(["approvals", "list", "--all", "--json"]),
    await home.hermes(["approvals", "suggest", "--json"]),
    await home.hermes(["audit"]),
    await home.hermes(["audit", "--json"]),
    await home.hermes(["why", (await home.audit())[0]?.callId ?? "", "--json"]),
  ];
  for (const [index, { stdout, stderr }] of shown.entries()) expectClean(stdout + stderr, `output ${index}`);
  expect(await readFile(home.file("ran.txt"), "utf8")).toBe(`ran ${OWN} ${VENDOR}\n`);
});

test("agent K6, M4: a key that the user typed is sent as typed, and no title or list shows it", async () => {
  await using home = await openSecretHome({});
  await using server = await startScriptedServer({ answers: [{ text: "I will use it.", times: 9 }] });
  const model = ["--model.base_url", `${server.url}/v1`, "-m", "custom:m"];
  const long = `${"look at this ".repeat(14)}${VENDOR}`; // a list would cut the key in two
  for (const text of [`push with ${VENDOR} please`, `${OWN} is the password`, long])
    expect(await home.hermes(["-z", text, ...model])).toMatchObject({ exitCode: 0 });
  const sent = server.requests.map(({ body }) => JSON.stringify(body.messages));
  expect(sent[0]).toContain(VENDOR);
  expect(sent[1]).toContain(OWN);
  const list = await home.hermes(["sessions", "list", "--all", "--json"]);
  expect(list.json()).toMatchObject([{}, { title: expect.stringContaining("«redacted:") }, {}]);
  for (const words of [
    ["list", "--all"],
    ["list", "--all", "--json"],
    ["branch", "latest", "--json"],
    ["tree"],
    ["tree", "--json"],
  ]) {
    const { stdout, stderr } = await home.hermes(["sessions", ...words]);
    expectClean(stdout + stderr, words.join(" "));
    expect(stdout).not.toContain("ghp_");
  }
});
