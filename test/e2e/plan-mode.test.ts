import { execFile, spawn } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { ASKING, eventsOf, openApprovalHome, RUN, resultsOf, terminal } from "../support/approval-home.ts";
import { startInTerminal } from "../support/pty.ts";
import { openSandboxHome } from "../support/sandbox-home.ts";
import { describeWith } from "../support/services.ts";

const run = promisify(execFile);
const call = (name: string, input: Record<string, unknown>) => ({ tools: [{ name, input }] });
const PLAN = "1. Change a.txt. 2. Run the tests.";

/** Ways to change something below the working folder, in processes or on the network. */
const attempts = (folder: string, url: string, victim: number) => [
  terminal("echo x > new.txt"),
  terminal("echo x >> a.txt"),
  terminal("> a.txt"),
  terminal("cat a.txt | tee new.txt"),
  terminal("sed -i s/one/two/ a.txt"),
  terminal("sed 's/one/two/w new.txt' a.txt"),
  terminal("git commit --allow-empty -m x"),
  terminal("git add -A && git stash"),
  terminal("git checkout -b other"),
  terminal("git -c core.pager='touch new.txt' log"),
  terminal("git config user.name mallory"),
  terminal("npm install left-pad"),
  terminal("npm run build"),
  terminal(`python3 -c "open('new.txt', 'w').write('x')"`),
  terminal("python3 <<'EOF'\nopen('new.txt', 'w').write('x')\nEOF"),
  terminal("cat > new.txt <<EOF\nx\nEOF"),
  terminal("bash <<EOF\ntouch new.txt\nEOF"),
  terminal("cp a.txt new.txt"),
  terminal("mv a.txt new.txt"),
  terminal("ln -s a.txt new.txt"),
  terminal("touch new.txt"),
  terminal("mkdir -p new/folder"),
  terminal("rm a.txt"),
  terminal("env touch new.txt"),
  terminal("PAGER='touch new.txt' man ls"),
  terminal("LD_PRELOAD=./evil.so ls"),
  terminal("PATH=.:$PATH ls"),
  terminal("(sleep 0; touch new.txt) & wait"),
  terminal("nohup touch new.txt &"),
  call("terminal", { command: "touch new.txt", background: true }),
  call("terminal", { command: "sleep 300", background: true }),
  terminal("sleep 300 & disown"),
  terminal("setsid sleep 300"),
  terminal("(sleep 300 &)"),
  terminal("sleep 300 >/dev/null 2>&1 & echo started"),
  terminal(`kill ${victim}`),
  terminal("pkill -f nothing-like-this"),
  terminal(`curl -s -X POST ${url} -d x`),
  terminal(`curl -s ${url} -o new.txt`),
  terminal(`wget -q ${url}`),
  terminal(`exec 3<>/dev/tcp/127.0.0.1/${new URL(url).port}; echo x >&3`),
  terminal("find . -name a.txt -delete"),
  terminal("find . -name a.txt -exec touch new.txt \\;"),
  terminal("find . -fprint new.txt"),
  terminal("echo new.txt | xargs touch"),
  terminal('awk \'BEGIN { print "x" > "new.txt" }\''),
  terminal("awk 'BEGIN { system(\"touch new.txt\") }'"),
  terminal("perl -e 'open(F, \">new.txt\")'"),
  terminal("perl -pi -e s/one/two/ a.txt"),
  terminal("dd if=a.txt of=new.txt"),
  terminal("tar -xf a.tar"),
  terminal("tar -cf new.tar a.txt"),
  terminal("chmod 600 a.txt"),
  terminal("truncate -s 0 a.txt"),
  terminal("sort -o a.txt a.txt"),
  terminal("sh -c 'touch new.txt'"),
  terminal("eval 'touch new.txt'"),
  terminal("$(echo touch) new.txt"),
  terminal("echo dG91Y2ggbmV3LnR4dA== | base64 -d | sh"),
  terminal("ls() { touch new.txt; }; ls"),
  terminal("alias ls='touch new.txt'; ls"),
  terminal("trap 'touch new.txt' EXIT"),
  terminal("./run.sh"),
  terminal(". ./run.sh"),
  terminal("make"),
  terminal("sqlite3 new.db 'create table a (b)'"),
  terminal("node -e \"require('fs').writeFileSync('new.txt', 'x')\""),
  terminal("printf x | dd of=new.txt"),
  terminal("split a.txt new"),
  terminal("install a.txt new.txt"),
  terminal("rsync a.txt new.txt"),
  terminal("vim -es -c 'wq! new.txt' a.txt"),
  terminal("hermes kanban create task"),
  terminal("hermes config set terminal.timeout 5"),
  call("write_file", { path: "new.txt", content: "x" }),
  call("write_file", { path: `${folder}/a.txt`, content: "x" }),
  call("patch", { path: "a.txt", old_string: "one", new_string: "two" }),
  call("process", { action: "write", session_id: "proc_000000000000", data: "touch new.txt\n" }),
  call("process", { action: "kill", session_id: "proc_000000000000" }),
  call("kanban_create", { title: "a task", assignee: "default" }),
];

/** The result of a call that did not run: plan mode or a tool refused it, or the tool does not exist. */
const NOT_RUN =
  /^executed: false|^Refused, nothing was run|There is no tool|must not leave background processes/;
const MORE_THAN_ENOUGH = 1_000; // the breaker would end the turn after the fourth attempt

/** A loopback server that counts connections. */
async function listen() {
  let connections = 0;
  const server = createServer((_, response) => response.end("x"));
  server.on("connection", () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Prints every file below the current folder with mode, time and content, and the state of git. */
const INVENTORY =
  "export GIT_OPTIONAL_LOCKS=0; find . -printf '%p %m %s %T@ %l\\n' | sort; find . -type f -exec cksum {} + | sort; git status --porcelain 2>/dev/null; git rev-parse HEAD 2>/dev/null";

const FILES: Readonly<Record<string, string>> = {
  "a.txt": "one\n",
  "run.sh": "#!/bin/sh\ntouch new.txt\n",
  Makefile: "all:\n\ttouch new.txt\n",
  "package.json": '{"scripts": {"build": "touch new.txt"}}\n',
};

describe("hermes --plan on this machine", () => {
  test("agent M3: whatever the model tries, nothing changes, and the plan is the answer", async () => {
    await using server = await listen();
    using victim = spawn("sleep", ["600"]);
    const approvals = { denial_breaker_threshold: MORE_THAN_ENOUGH };
    await using home = await openApprovalHome({}, approvals);
    const calls = attempts(home.work, server.url, victim.pid ?? 0);
    await writeFile(home.scriptPath, JSON.stringify({ answers: [...calls, { text: PLAN }] }));
    for (const [name, text] of Object.entries(FILES)) await writeFile(home.file(name), text, { mode: 0o755 });
    const git = (...args: readonly string[]) => run("git", args, { cwd: home.work });
    await git("init", "-q");
    await git("add", "-A");
    await git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first");
    await run("tar", ["-cf", join(home.folder, "a.tar"), "run.sh"], { cwd: home.work });
    await run("mv", [join(home.folder, "a.tar"), home.file("a.tar")]);
    const inventory = async () => (await run("bash", ["-c", INVENTORY], { cwd: home.work })).stdout;
    const before = await inventory();
    const settings = await readFile(home.configPath, "utf8");
    const end = await home.run(["-z", "change it", "--plan", "--json"]);
    expect(end.exitCode, end.stderr).toBe(0);
    expect(await inventory()).toBe(before);
    expect(server.connections()).toBe(0);
    expect(victim.signalCode).toBeNull();
    expect(await readFile(home.configPath, "utf8")).toBe(settings);
    expect((await home.hermes(["kanban", "list", "--json"])).stdout).not.toContain("task");
    const results = resultsOf(end);
    expect(results).toHaveLength(calls.length);
    const passed = calls.filter((_, index) => !NOT_RUN.test(results[index] ?? ""));
    expect(passed.map(({ tools }) => JSON.stringify(tools))).toEqual([]);
    expect(eventsOf(end).at(-1)).toMatchObject({ type: "turn-end", outcome: "completed", text: PLAN });
    expect(end.stderr).toMatch(/To carry out the plan: hermes -r \S+ -z/);
  });

  test("agent M3: yolo does not lift plan mode, and reading and searching work", async () => {
    const reads = [
      terminal("cat a.txt; ls -la; git status; grep -rn one . | head"),
      call("read_file", { path: "a.txt" }),
      call("search_files", { pattern: "one" }),
      call("process", { action: "list" }),
    ];
    await using home = await openApprovalHome({
      answers: [...reads, terminal("touch new.txt"), { text: PLAN }],
    });
    await writeFile(home.file("a.txt"), "one\n");
    const end = await home.run(["-z", "look", "--plan", "--yolo", "--json"]);
    expect(end.exitCode, end.stderr).toBe(0);
    const decisions = await home.audit();
    expect(decisions.map(({ verdict }) => verdict)).toEqual([...reads.map(() => "allowed"), "denied"]);
    expect(decisions.at(-1)).toMatchObject({ step: "plan-mode" });
  });

  test("agent M3: after confirmation at the terminal the same session carries the plan out", async () => {
    await using home = await openApprovalHome({
      turns: [
        { when: "The plan is approved", answers: [terminal("echo two > a.txt"), { text: "carried out" }] },
        { when: "change it", answers: [terminal("echo two > a.txt"), { text: PLAN }] },
      ],
    });
    await writeFile(home.file("a.txt"), "one\n");
    const env = { PATH: process.env["PATH"] ?? "", HOME: home.folder, HERMES_HOME: home.path, TERM: "xterm" };
    const args = ["chat", "-q", "change it", "--plan", "-m", `scripted:${home.scriptPath}`];
    for (const { keys, content } of [
      { keys: "n\r", content: "one\n" },
      { keys: "y\r", content: "two\n" },
    ]) {
      using session = await startInTerminal(args, { env, cwd: home.work });
      await session.shows("[y/a/N] ");
      expect(await readFile(home.file("a.txt"), "utf8")).toBe("one\n");
      session.type(keys);
      expect(await session.exitCode()).toBe(0);
      expect(await readFile(home.file("a.txt"), "utf8")).toBe(content);
    }
  });

  test("agent M3: the answer `a` applies to one plan: none of its calls asks, and what is denied stays denied", async () => {
    await using home = await openApprovalHome(
      {
        turns: [
          {
            when: "The plan is approved",
            answers: [terminal(RUN), terminal("touch denied.txt"), { text: "carried out" }],
          },
          { when: "change it", answers: [{ text: PLAN }] },
        ],
      },
      { ...ASKING, deny: ["touch denied*"] },
    );
    const env = { PATH: process.env["PATH"] ?? "", HOME: home.folder, HERMES_HOME: home.path, TERM: "xterm" };
    const args = ["chat", "-q", "change it", "--plan", "-m", `scripted:${home.scriptPath}`];
    using session = await startInTerminal(args, { env, cwd: home.work });
    await session.shows("[y/a/N] ");
    session.type("a\r");
    expect(await session.exitCode(), session.screen()).toBe(0);
    expect(await home.runs()).toBe(1);
    expect((await home.audit()).map(({ verdict }) => verdict)).toEqual(["allowed", "denied"]);
  });

  test("the command that a single run prints carries the plan out in the same session", async () => {
    await using home = await openApprovalHome({
      turns: [
        { when: "The plan is approved", answers: [terminal("echo two > a.txt"), { text: "carried out" }] },
        { when: "change it", answers: [{ text: PLAN }] },
      ],
    });
    const plan = await home.run(["-z", "change it", "--plan"]);
    expect(plan.stdout).toBe(`${PLAN}\n`);
    const [, session = "", words = ""] = /hermes -r (\S+) -z "([^"]+)"/.exec(plan.stderr) ?? [];
    const end = await home.run(["-r", session, "-z", words]);
    expect(end).toMatchObject({ exitCode: 0, stdout: "carried out\n" });
    expect(await readFile(home.file("a.txt"), "utf8")).toBe("two\n");
  });
});

describeWith("docker", "hermes --plan in a Docker sandbox", (service) => {
  test("agent M3: whatever the model tries, nothing changes inside either, and the plan is the answer", async () => {
    await using home = await openSandboxHome(service);
    const calls = attempts("/workspace", "http://127.0.0.1:9/", 1);
    const script = join(home.folder, "script.json");
    await mkdir(home.path, { recursive: true, mode: 0o700 });
    await writeFile(
      join(home.path, "config.yaml"),
      `approvals:\n  denial_breaker_threshold: ${MORE_THAN_ENOUGH}\n`,
    );
    await writeFile(script, JSON.stringify({ answers: [...calls, { text: PLAN }] }));
    for (const [name, text] of Object.entries(FILES))
      await home.exec(`printf %s ${JSON.stringify(text).replaceAll("$", "\\$")} > /workspace/${name}`);
    const inventory = async () => {
      const shown = await home.exec(
        "cd /workspace && find . -exec stat -c '%n %a %s %Y' {} + | sort; find . -type f -exec cksum {} + | sort",
      );
      expect(shown.exitCode, shown.stderr).toBe(0);
      return shown.stdout;
    };
    const before = await inventory();
    expect(before).toContain("a.txt");
    const [container = ""] = await home.containers();
    const changes = async () => (await home.docker("diff", container)).split("\n").toSorted();
    const earlier = await changes();
    const end = await home.startHermes(["-z", "change it", "--plan", "--json", "-m", `scripted:${script}`])
      .ended;
    expect(end.exitCode, end.stderr).toBe(0);
    expect(await inventory()).toBe(before);
    expect(await changes()).toEqual(earlier);
    expect(await home.processes()).not.toContain("sleep 300");
    const results = resultsOf(end);
    const passed = calls.filter((_, index) => !NOT_RUN.test(results[index] ?? ""));
    expect(passed.map(({ tools }) => JSON.stringify(tools))).toEqual([]);
    expect(eventsOf(end).at(-1)).toMatchObject({ type: "turn-end", outcome: "completed", text: PLAN });
    // The same call is allowed without plan mode, which proves that plan mode caused the refusals above.
    await writeFile(
      script,
      JSON.stringify({ answers: [terminal("touch /workspace/new.txt"), { text: "ok" }] }),
    );
    await home.startHermes(["-z", "now do it", "-m", `scripted:${script}`]).ended;
    expect(await inventory()).toContain("new.txt");
  });
});
