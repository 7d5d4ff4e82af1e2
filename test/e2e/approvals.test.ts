import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { describe, expect, test } from "vitest";
import { ASKING, eventsOf, openApprovalHome, RUN, resultsOf, terminal } from "../support/approval-home.ts";
import { startScriptedServer } from "../support/scripted-server.ts";

const ONE_CALL = { answers: [terminal(RUN), { text: "done" }] };
const me = userInfo().username;

describe("a call that needs approval in a single run", () => {
  test("agent K2, M3: waits for an answer from another process, is mentioned in the list of another profile, and runs once when approved", async () => {
    await using home = await openApprovalHome(ONE_CALL);
    const { ended } = home.start(["-z", "go", "--json"]);
    const question = await home.question();
    expect(question).toMatchObject({ state: "waiting", isHeld: true, summary: RUN, rule: "echo ran*" });
    expect(await home.runs()).toBe(0);
    await home.hermes(["profile", "create", "other"]);
    const ofOther = await home.hermes(["-p", "other", "approvals", "list"]);
    expect(ofOther.stdout).toBe("No question waits for an answer.\n");
    expect(ofOther.stderr).toContain(
      "1 question waits in the profile default: hermes -p default approvals list",
    );
    const approved = await home.hermes(["approvals", "approve", question.id]);
    expect(approved).toMatchObject({ exitCode: 0, stdout: `Approved: ${RUN}\n` });
    const run = await ended;
    expect(run.exitCode, run.stderr).toBe(0);
    expect(await home.runs()).toBe(1);
    expect(eventsOf(run).map(({ type }) => type)).toEqual([
      ...["session", "turn-start", "request-sent", "tool-call-start", "assistant", "approval-asked"],
      ...[
        "approval-answered",
        "tools-start",
        "tool-end",
        "request-sent",
        "text-delta",
        "assistant",
        "turn-end",
      ],
    ]);
    expect(await home.list()).toEqual([]);
  });

  test("agent M3: a denied call does not run, and the model gets the reason without secrets, and is told not to retry it", async () => {
    await using home = await openApprovalHome(ONE_CALL);
    const { ended } = home.start(["-z", "go", "--json"]);
    const { id } = await home.question();
    const secret = `ghp_${"a1B2c3D4e5F6".repeat(3)}`;
    const denied = await home.hermes(["approvals", "deny", id, "use", "the staging copy", secret]);
    expect(denied).toMatchObject({ exitCode: 0, stdout: `Denied: ${RUN}\n` });
    const run = await ended;
    expect(run.exitCode, run.stderr).toBe(0);
    const [result] = resultsOf(run);
    expect(result).toMatch(/^executed: false\nreason: /);
    expect(result).toContain(`${me} denied it: use the staging copy`);
    expect(result).toContain("Do not retry it, reword it, or reach the same result");
    expect(await home.runs()).toBe(0);
    expect(run.stdout, "the secret is not shown").not.toContain(secret);
    expect(JSON.stringify(await home.list("--all")), "the secret is not stored").not.toContain(secret);
  });

  test("agent K2, M3: a question without an answer in time counts as denied, and can no longer be approved", async () => {
    await using home = await openApprovalHome(ONE_CALL, { ...ASKING, timeout: 1 });
    const run = await home.run(["-z", "go", "--json"]);
    expect(run.exitCode, run.stderr).toBe(0);
    expect(resultsOf(run)[0]).toMatch(/^executed: false\n.*Nobody answered in time\./);
    expect(await home.runs()).toBe(0);
    const [asked] = await home.list("--all");
    expect(asked).toMatchObject({ state: "expired" });
    const late = await home.hermes(["approvals", "approve", asked?.id ?? ""]);
    expect(late.exitCode).not.toBe(0);
    expect(late.stderr).toContain("was already expired; nothing was changed");
  });

  test("agent M3: with approvals.on_timeout end-turn, a question that is not answered in time ends the turn", async () => {
    await using home = await openApprovalHome(ONE_CALL, { ...ASKING, timeout: 1, on_timeout: "end-turn" });
    const run = await home.run(["-z", "go", "--json"]);
    expect(run.exitCode, run.stderr).toBe(7);
    const reason = expect.stringContaining("nobody answered a question in time");
    expect(eventsOf(run).at(-1)).toMatchObject({ type: "turn-end", outcome: "denied", reason });
    expect(await home.runs()).toBe(0);
  });

  test("agent K2: single_query_mode approve runs the call at once, without a question", async () => {
    await using home = await openApprovalHome(ONE_CALL, { ...ASKING, single_query_mode: "approve" });
    const run = await home.run(["-z", "go", "--json"]);
    expect(run.exitCode, run.stderr).toBe(0);
    expect(resultsOf(run)[0]).toMatch(/exit_code: 0/);
    expect(await home.runs()).toBe(1);
    expect(await home.list("--all")).toEqual([]);
  });

  test("agent K3: an answer for the session covers everything that the rule asks about in this session, and no other session", async () => {
    await using home = await openApprovalHome({
      turns: [
        { when: "first", answers: [terminal(RUN), terminal(`${RUN} # again`), { text: "done" }] },
        { when: "second", answers: [terminal(RUN), { text: "done" }] },
        { when: "other", answers: [terminal(RUN), { text: "done" }] },
      ],
    });
    const { ended } = home.start(["-z", "first", "--json"]);
    const { id } = await home.question();
    const approved = await home.hermes(["approvals", "approve", id, "--for", "session"]);
    const granted = /in session \S+: everything that `echo ran\*` asks about \(rule echo ran\*\)/;
    expect(approved.stderr).toMatch(new RegExp(`This will also allow ${granted.source}`));
    expect(approved.stdout).toMatch(new RegExp(`^Approved: .*\nAllowed ${granted.source}\n$`));
    expect((await ended).exitCode).toBe(0);
    expect(await home.runs()).toBe(2);
    expect((await home.run(["-c", "-z", "second"])).exitCode).toBe(0);
    expect(await home.runs()).toBe(3);
    const other = home.start(["-z", "other"]);
    await home.hermes(["approvals", "deny", (await home.question()).id]);
    await other.ended;
    expect(await home.runs()).toBe(3);
  });

  test("agent M3: time spent waiting for an answer does not count against --run-budget", async () => {
    await using home = await openApprovalHome(ONE_CALL);
    const budgetSeconds = 4;
    const { ended } = home.start(["-z", "go", "--json", "--run-budget", String(budgetSeconds)]);
    const { id, askedAt } = await home.question();
    await expect.poll(() => Date.now() - askedAt).toBeGreaterThan(budgetSeconds * 1_500);
    await home.hermes(["approvals", "approve", id]);
    const run = await ended;
    expect(run.exitCode, run.stderr).toBe(0);
    expect(await home.runs()).toBe(1);
    expect(run.stdout).not.toContain("Most of the time");
  });

  test.each([
    [["approve", "a_nosuch"], "There is no question a_nosuch."],
    [["deny", "%"], "There is no question %."],
    [["approve", ""], "There is no question"],
  ])("approvals %j reports that the question does not exist", async (words, said) => {
    await using home = await openApprovalHome({});
    const run = await home.hermes(["approvals", ...words]);
    expect(run.exitCode).not.toBe(0);
    expect(run.stdout).toBe("");
    expect(run.stderr).toContain(said);
  });
});

describe("a script that an earlier call has written", () => {
  const write = {
    tools: [{ name: "write_file", input: { path: "tidy.sh", content: "mkdir made\nrm -rf kept\n" } }],
  };
  const script = {
    turns: [
      { when: "both", answers: [write, terminal("sh tidy.sh"), { text: "done" }] },
      { when: "write", answers: [write, { text: "done" }] },
      { when: "run", answers: [terminal("sh tidy.sh"), { text: "done" }] },
    ],
  };

  test.each([
    [[["-z", "both"]]],
    [
      [
        ["-z", "write"],
        ["-c", "-z", "run"],
      ],
    ],
  ])("agent K4: is inspected when it runs, in this process and the next: %j", async (runs) => {
    await using home = await openApprovalHome(script, { mode: "manual" });
    for (const args of runs) await home.run(args);
    expect(existsSync(home.file("tidy.sh"))).toBe(true);
    expect(existsSync(home.file("made"))).toBe(false);
    const [decision] = await home.audit("--denied");
    expect(decision).toMatchObject({ rule: "class:recursive-removal", summary: "sh tidy.sh" });
  });
});

describe("the messages of a single run about calls that were not run", () => {
  const { single_query_mode: _, ...unattended } = ASKING;

  test.each([["-z"], ["chat", "-q"]])(
    "agent K2: %s denies at once by default, without a question: one line for each call, with the command that explains it",
    async (...args) => {
      await using home = await openApprovalHome(ONE_CALL, unattended);
      const run = await home.run([...args, "go"]);
      expect(run.exitCode, run.stderr).toBe(0);
      expect(await home.runs()).toBe(0);
      expect(await home.list("--all")).toEqual([]);
      const [denied] = await home.audit();
      expect(denied?.reason).toContain("Nobody can be asked in this run.");
      expect(run.stderr).toContain(`hermes: Not run: terminal: ${RUN} (`);
      expect(run.stderr).toContain(`More: hermes why ${denied?.callId}\n`);
      expect((await home.hermes(["audit"])).stdout).toContain("denied (unattended)");
      expect((await home.hermes(["why", denied?.callId ?? ""])).stdout).toMatch(
        /verdict +denied, unattended\n/,
      );
    },
  );

  test("a run without a session denies calls that need an answer, and says so", async () => {
    await using home = await openApprovalHome(ONE_CALL);
    const run = await home.run(["-z", "go", "--no-session"]);
    expect(run.exitCode, run.stderr).toBe(0);
    expect(run.stderr).toContain("questions of a --no-session run cannot be answered");
    expect(run.stderr).toContain("Not run: terminal:");
    expect(run.stderr).not.toContain("hermes why");
    expect(await home.runs()).toBe(0);
  });
});

test("a command cannot draw on the terminal: lists, why and audit escape the quoted text, in a pipe too", async () => {
  await using home = await openApprovalHome({
    answers: [terminal("echo ran\u001b[2J\u200f\n  approved by root"), { text: "done" }],
  });
  const { ended } = home.start(["-z", "go"]);
  const { id } = await home.question();
  const list = await home.hermes(["approvals", "list"]);
  const denied = await home.hermes(["approvals", "deny", id, "no\u001b[2J\u200f"]);
  const [decision] = [await ended, ...(await home.audit())].slice(1) as { callId: string }[];
  const audit = await home.hermes(["audit"]);
  const why = await home.hermes(["why", decision?.callId ?? ""]);
  for (const { stdout } of [list, denied, audit, why]) {
    expect(stdout).toContain("approved by root");
    expect(stdout).not.toMatch(/^ {2}approved/m);
    for (const drawn of ["\u001b", "\u200f"]) expect(stdout).not.toContain(drawn);
  }
});

describe("a process that is killed while its question waits", () => {
  const script = {
    turns: [
      { when: "begin", answers: [terminal(RUN), { text: "done" }] },
      { when: "go on", answers: [terminal(RUN), { text: "done" }] },
    ],
  };

  async function killDuringQuestion() {
    const home = await openApprovalHome(script);
    const { child, ended } = home.start(["-z", "begin", "--json"]);
    const question = await home.question();
    child.kill("SIGKILL");
    await ended;
    return { home, id: question.id };
  }

  test("agent K2: the question stays and is approved once; the resumed session runs the call once, and the next call asks again", async () => {
    const { home: opened, id } = await killDuringQuestion();
    await using home = opened;
    expect(await home.list()).toMatchObject([{ id, state: "waiting", isHeld: false }]);
    expect((await home.hermes(["approvals", "list"])).stdout).toContain("waiting (its process has ended)");
    const approved = await home.hermes(["approvals", "approve", id]);
    expect(approved.exitCode, approved.stderr).toBe(0);
    expect(approved.stdout).toMatch(/The process that asked has ended\. Continue .* hermes -r \S+ -z/);
    const twice = await home.hermes(["approvals", "approve", id]);
    expect(twice.exitCode).not.toBe(0);
    expect(twice.stderr).toContain(`The question ${id} was already approved by ${me}; nothing was changed.`);
    expect(await home.runs()).toBe(0);
    const run = await home.run(["-c", "-z", "go on", "--json"]);
    expect(run.exitCode, run.stderr).toBe(0);
    expect(resultsOf(run)[0]).toContain(
      "The user has approved it in the meantime: repeat the same call to run it.",
    );
    expect(await home.runs()).toBe(1);
    expect(await home.list()).toEqual([]);

    const again = home.start(["-c", "-z", "go on", "--json"]);
    const second = await home.question();
    expect(second.id).not.toBe(id);
    await home.hermes(["approvals", "deny", second.id]);
    await again.ended;
    expect(await home.runs()).toBe(1);
  });

  test("a denial from another process reaches the model of the resumed session", async () => {
    const { home: opened, id } = await killDuringQuestion();
    await using home = opened;
    await home.hermes(["approvals", "deny", id, "too risky"]);
    const { ended } = home.start(["-c", "-z", "go on", "--json"]);
    await home.hermes(["approvals", "deny", (await home.question()).id]);
    const [first] = resultsOf(await ended);
    expect(first).toContain("The user has denied it in the meantime: too risky. Do not repeat it.");
    expect(await home.runs()).toBe(0);
  });

  test("the resumed session takes over a question that still waits, so that one answer is enough", async () => {
    const { home: opened, id } = await killDuringQuestion();
    await using home = opened;
    const { ended } = home.start(["-c", "-z", "go on", "--json"]);
    await expect.poll(async () => (await home.list())[0]?.isHeld).toBe(true);
    expect(await home.list()).toMatchObject([{ id }]);
    await home.hermes(["approvals", "approve", id]);
    const run = await ended;
    expect(run.exitCode, run.stderr).toBe(0);
    expect(resultsOf(run)[0]).toContain("The call waited for the user's approval, which is still missing.");
    expect(await home.runs()).toBe(1);
  });

  test("agent K2: a question that expires after its process has ended is shown as expired", async () => {
    await using home = await openApprovalHome(script, { ...ASKING, timeout: 2 });
    const { child, ended } = home.start(["-z", "begin"]);
    const { id, endsAt = 0 } = await home.question();
    child.kill("SIGKILL");
    await ended;
    await expect.poll(() => Date.now()).toBeGreaterThan(endsAt);
    expect(await home.list()).toEqual([]);
    expect(await home.list("--all")).toMatchObject([{ id, state: "expired" }]);
    expect((await home.hermes(["approvals", "approve", id])).stderr).toContain(
      `The question ${id} expired at`,
    );
  });
});

describe("evidence", () => {
  test("hermes why explains a denied, an approved, an automatic and an expired call; audit lists them", async () => {
    await using home = await openApprovalHome(
      {
        turns: [
          { when: "denied", answers: [terminal(RUN), { text: "done" }] },
          { when: "approved", answers: [terminal(RUN), { text: "done" }] },
          { when: "automatic", answers: [terminal("echo plain"), { text: "done" }] },
          { when: "expired", answers: [terminal(RUN), { text: "done" }] },
        ],
      },
      ASKING,
    );
    const denied = home.start(["-z", "denied"]);
    await home.hermes(["approvals", "deny", (await home.question()).id, "not", "today"]);
    await denied.ended;
    const approved = home.start(["-z", "approved"]);
    await home.hermes(["approvals", "approve", (await home.question()).id]);
    await approved.ended;
    await home.run(["-z", "automatic"]);
    await home.run(["-z", "expired"], { env: { HERMES_APPROVALS_TIMEOUT: "1" } });

    const decisions = await home.audit();
    const evidence = { rule: "echo ran*", layer: "user", hash: expect.stringMatching(/^[0-9a-f]{64}$/) };
    expect(decisions).toMatchObject([
      { verdict: "denied", step: "person", answeredBy: me, outcome: "not-run", ...evidence },
      { verdict: "allowed", step: "person", answeredBy: me, scope: "once", outcome: "ok", ...evidence },
      { verdict: "allowed", step: "rule", summary: "echo plain", outcome: "ok", layer: "built-in" },
      { verdict: "denied", step: "person", outcome: "not-run", ...evidence },
    ]);
    const texts: string[] = [];
    for (const decision of decisions) {
      const why = await home.hermes(["why", decision.callId]);
      expect(why.exitCode, why.stderr).toBe(0);
      const ofSession = why.stdout.split("\n\n").find((part) => part.includes(decision.sessionId)) ?? "";
      texts.push(ofSession);
      const all = (await home.hermes(["why", decision.callId, "--json"])).json<object[]>();
      expect(all).toContainEqual(JSON.parse(JSON.stringify(decision)));
    }
    expect(texts[0]).toMatch(
      new RegExp(
        `verdict +denied, by the step person\nwhy .*denied it: not today\nrule +echo ran\\* \\(user\\)\nanswer +by ${me}, question a_\\w+\nresult +not-run`,
      ),
    );
    expect(texts[1]).toMatch(
      /verdict +allowed, by the step person\n[\s\S]*, for once, question a_\w+\nresult +ok/,
    );
    expect(texts[2]).toMatch(/verdict +allowed, by the step rule\nwhy +No rule asks about it\.\nresult +ok/);
    expect(texts[3]).toMatch(/verdict +denied, unanswered\nwhy .*Nobody answered in time\./);

    const table = await home.hermes(["audit"]);
    expect(table.stdout.match(/denied \(person\)/g)).toHaveLength(1);
    expect(table.stdout.match(/denied \(unanswered\)/g)).toHaveLength(1);
    expect(table.stdout).toContain("echo plain");
    expect(await home.audit("--denied")).toHaveLength(2);
    expect(await home.audit("--limit", "1")).toMatchObject([{ verdict: "denied" }]);
    expect((await home.hermes(["audit", "--since", "2030-01-01"])).stdout).toBe("No calls in this time.\n");
    const unknown = await home.hermes(["why", "call_nosuch"]);
    expect(unknown.exitCode).not.toBe(0);
    expect(unknown.stderr).toContain("No decision about a call call_nosuch is stored.");
  });

  test("refusals by the floor and by a deny rule are recorded with the deciding step", async () => {
    await using home = await openApprovalHome(
      { answers: [terminal("rm -rf /"), terminal("echo never > never.txt"), { text: "done" }] },
      { deny: ["echo never*"] },
    );
    await home.run(["-z", "go"]);
    expect(await home.audit()).toMatchObject([
      { verdict: "denied", step: "hardline", outcome: "not-run" },
      { verdict: "denied", step: "deny-rule", rule: "echo never*", layer: "user", outcome: "not-run" },
    ]);
  });
});

describe("yolo", () => {
  const answers = [terminal(RUN), terminal("rm -rf /"), terminal("echo never > never.txt"), { text: "done" }];
  const approvals = { ...ASKING, deny: ["echo never*"] };

  test.each([
    ["--yolo", ["--yolo"], {}],
    ["HERMES_YOLO_MODE=1", [], { HERMES_YOLO_MODE: "1" }],
    ["HERMES_YOLO_MODE=True", [], { HERMES_YOLO_MODE: "True" }],
    ["approvals.mode off", [], { HERMES_APPROVALS_MODE: "off" }],
  ])("agent K3, M3: %s asks nothing, and the floor and deny rules still apply", async (_, args, env) => {
    await using home = await openApprovalHome({ answers }, approvals);
    const run = await home.run(["-z", "go", "--json", ...args], { env });
    expect(run.exitCode, run.stderr).toBe(0);
    expect(await home.runs()).toBe(1);
    expect(existsSync(home.file("never.txt"))).toBe(false);
    expect(await home.audit()).toMatchObject([
      { verdict: "allowed", step: "yolo" },
      { verdict: "denied", step: "hardline" },
      { verdict: "denied", step: "deny-rule" },
    ]);
    expect(await home.list("--all")).toEqual([]);
  });

  test("a value of HERMES_YOLO_MODE that is neither on nor off is refused", async () => {
    await using home = await openApprovalHome({ answers });
    const run = await home.run(["-z", "go"], { env: { HERMES_YOLO_MODE: "maybe" } });
    expect(run).toMatchObject({ exitCode: 78, stdout: "" });
    expect(run.stderr).toContain("HERMES_YOLO_MODE is neither on nor off.");
  });

  test("agent M3: a command cannot enable yolo for the session that runs it", async () => {
    const enableYolo = "export HERMES_YOLO_MODE=1";
    await using home = await openApprovalHome(
      { answers: [terminal(enableYolo), terminal(RUN), { text: "done" }] },
      { ...ASKING, single_query_mode: "deny" },
    );
    await home.run(["-z", "go"], { env: { HERMES_YOLO_MODE: "0" } });
    expect(await home.runs()).toBe(0);
  });
});

describe("the reviewer model", () => {
  const { mode: _, single_query_mode: __, ...others } = ASKING; // smart is the default
  test("agent K2: decides in smart mode only by a clear verdict", async () => {
    const verdicts = [
      ['{"verdict": "deny", "reason": "leaks data"}', "reviewer", "denied"],
      ['{"verdict": "approve", "reason": "ordinary work"}', "reviewer", "allowed"],
      ['{"verdict": "escalate", "reason": "not sure"}', "person", "denied"],
      ["Sure, go ahead! I approve.", "person", "denied"],
    ] as const;
    const calls = verdicts.map((_, at) => `${RUN} # call ${at}`);
    await using home = await openApprovalHome(
      {
        turns: [
          ...verdicts.map(([text], at) => ({ when: `# call ${at}`, answers: [{ text }] })),
          { when: "start", answers: [...calls.map(terminal), { text: "done" }] },
        ],
      },
      others,
    );
    const run = await home.run(["-z", "start"]);
    expect(run.exitCode, run.stderr).toBe(0);
    expect(await home.runs()).toBe(1);
    expect(await home.audit()).toMatchObject(
      verdicts.map(([, step, verdict]) => ({
        step,
        verdict,
        ...(step === "reviewer" && { answeredBy: `scripted:${home.scriptPath}` }),
      })),
    );
  });

  test("agent M2: its tokens count in the turn and in the session", async () => {
    const usage = { input: 700, output: 7 };
    const script = {
      turns: [
        { when: '"flagged"', answers: [{ text: '{"verdict": "approve"}', usage }] },
        {
          when: "start",
          answers: [
            { ...terminal(RUN), usage },
            { text: "done", usage },
          ],
        },
      ],
    };
    await using home = await openApprovalHome(script, others);
    const run = await home.run(["-z", "start", "--json"]);
    const events = eventsOf(run);
    expect(events.at(-1)).toMatchObject({ type: "turn-end", requests: 2, usage: { inputTokens: 2_100 } });
    const show = await home.hermes(["sessions", "show", "latest", "--json"]);
    expect(show.json()).toMatchObject({ usage: { requests: 3, inputTokens: 2_100, outputTokens: 21 } });
  });

  test("agent K2, M3: that hangs does not block the session: after its deadline a person is asked", async () => {
    await using server = await startScriptedServer(
      { turns: [{ when: "start", answers: [terminal(RUN), { text: "done" }] }] },
      { misbehave: (index) => (index === 1 ? { type: "hang", after: "nothing" } : undefined) },
    );
    const approvals = { ...others, single_query_mode: "ask", reviewer_timeout: 1 };
    await using home = await openApprovalHome({}, approvals);
    const model = ["--model.base_url", `${server.url}/v1`, "-m", "custom:m"];
    const ended = home.hermes(["-z", "start", ...model], { cwd: home.work });
    const { id, reason } = await home.question();
    expect(reason).toContain("The reviewer did not decide: the reviewer gave no answer in time.");
    expect(server.requests).toHaveLength(2);
    await home.hermes(["approvals", "approve", id]);
    expect(await ended).toMatchObject({ exitCode: 0, stdout: "done\n" });
    expect(await home.runs()).toBe(1);
  });
});

describe("a model that does not accept a denial", () => {
  const variants = Array.from({ length: 9 }, (_, index) => terminal(`echo ran ${index} >> ran.txt`));

  test("agent K2, M3: is told to stop after three denials, and the next one ends the turn with exit code 7", async () => {
    const { single_query_mode: _, ...approvals } = ASKING;
    await using home = await openApprovalHome({ answers: [...variants, { text: "done" }] }, approvals);
    const run = await home.run(["-z", "go", "--json"]);
    expect(run.exitCode, run.stderr).toBe(7);
    const results = resultsOf(run);
    expect(results).toHaveLength(4);
    expect(results.map((text) => text.includes("Stop trying variants"))).toEqual([false, false, true, true]);
    expect(await home.runs()).toBe(0);
    expect(eventsOf(run).at(-1)).toMatchObject({ type: "turn-end", outcome: "denied" });
  });

  test("a read between two variants does not reset the count of denials, but an allowed call that changes something does", async () => {
    const { single_query_mode: _, ...approvals } = ASKING;
    const read = { tools: [{ name: "read_file", input: { path: "a.txt" } }] };
    const change = { tools: [{ name: "write_file", input: { path: "a.txt", content: "a" } }] };
    const [one, two, three, four, five] = variants;
    if (!one || !two || !three || !four || !five) throw new Error("too few variants");
    await using home = await openApprovalHome(
      {
        turns: [
          {
            when: "reads between",
            answers: [change, one, read, two, read, three, read, four, { text: "done" }],
          },
          { when: "changes between", answers: [one, two, three, change, four, five, { text: "done" }] },
        ],
      },
      approvals,
    );
    expect((await home.run(["-z", "reads between"])).exitCode).toBe(7);
    expect(await home.run(["-z", "changes between"])).toMatchObject({ exitCode: 0, stdout: "done\n" });
    expect(await readFile(home.file("a.txt"), "utf8")).toBe("a");
    expect(await home.runs()).toBe(0);
  });
});
