import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { startChild } from "../../../../test/support/child.ts";
import type { SandboxedCommands, SandboxedResult } from "../../../../test/support/local-sandbox-child.ts";
import { describeWith } from "../../../../test/support/services.ts";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { terminalOptions } from "../../options.ts";
import { inspectSandbox } from "./local-sandbox.ts";
import { guardProject } from "./project-guards.ts";

const CHILD = new URL("../../../../test/support/local-sandbox-child.ts", import.meta.url);
const NOBODY = 65_534;
const AS_NOBODY = ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups", "--"];
const SECRET = "hunter2hunter2";
const isRoot = process.getuid?.() === 0;

/** Each of these would harm the user or the machine. $VICTIM is the pid of the process that runs them. */
const ATTEMPTS = [
  "cat ~/.ssh/id_rsa",
  "ls ~/.ssh",
  "cat ~/.aws/credentials",
  "cat ~/.netrc",
  "cat ~/.hermes/.env",
  "ls ~/.hermes",
  "cp -r ~/.hermes copy",
  "echo key >> ~/.ssh/authorized_keys",
  "echo x > ~/notes.txt",
  "echo x >> ~/.bashrc",
  "mkdir -p ~/.config/autostart",
  "touch /usr/local/bin/evil",
  "rm -r ~/documents",
  "mv ~/documents elsewhere",
  "ln ~/documents/a hard && echo x > hard",
  "ln -s ~/.ssh/id_rsa link && cat link",
  "ln -s ~/documents out && echo x > out/a",
  "cat /proc/self/root$HOME/.ssh/id_rsa",
  "cat /proc/self/cwd/../user/.ssh/id_rsa",
  "mount -o remount,rw,bind /",
  "mount --bind /tmp ~/documents",
  "umount ~/.ssh",
  "umount -l ~/.hermes",
  "unshare --mount umount ~/.ssh",
  "unshare --user --map-root-user --mount sh -c 'umount ~/.ssh || exit 1; cat ~/.ssh/id_rsa'; [ -r ~/.ssh/id_rsa ] || ls ~/.ssh",
  "nsenter --target 1 --mount cat ~/.ssh/id_rsa",
  "chroot /proc/1/root cat ~/.ssh/id_rsa",
  "kill -9 $VICTIM",
  "kill -TERM $VICTIM",
  "cat /proc/$VICTIM/environ",
  "ls /proc/$VICTIM/root/",
  "perl -e 'syscall(101, 16, $VICTIM, 0, 0) != -1 or die \"$!\\n\"'", // ptrace(PTRACE_ATTACH)
  "head -c 1 /proc/kmsg",
  // Harmless if they succeed: one writes the current value, the other prints a help text to the kernel log.
  'p=$(cat /proc/sys/kernel/core_pattern) && echo "$p" > /proc/sys/kernel/core_pattern',
  "[ ! -e /proc/sysrq-trigger ] && ls ~/.ssh || echo h > /proc/sysrq-trigger",
  "mknod disk b 8 0",
  "exec 3<>/dev/tcp/192.0.2.1/80",
  "exec 3<>/dev/tcp/127.0.0.1/$PORT",
  "exec 3<>/dev/tcp/example.com/80",
  connectTo("/var/run/docker.sock"),
  connectTo("/run/podman/podman.sock"),
  connectTo("$HOME/engine.sock"),
  "ssh-add -l",
  "echo evil > .git/hooks/pre-commit",
  "rm -rf .git/hooks",
  "chmod u+w .git/hooks/*",
  "mv .git/hooks .git/unused",
  "mv .git unused",
  "git config core.hooksPath /tmp/evil",
  "echo evil > .git/config",
  "rm .git/config",
  "echo evil > .envrc",
  "ln -sf /tmp/evil .git/hooks",
];

/** Unlike `mv`, this never falls back to copying. */
function rename(from: string, to: string): string {
  return `perl -e 'rename($ARGV[0], $ARGV[1]) or die "$!\\n"' ${from} ${to}`;
}

function connectTo(path: string): string {
  return `perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, sockaddr_un($ARGV[0])) or die "$ARGV[0]: $!\\n"' "${path}"`;
}

describeWith("bubblewrap", "local sandbox", () => {
  const users = isRoot ? ["root", "a plain user"] : ["a plain user"];

  test.each(users)(
    "agent K8: run by %s, no command escapes the sandbox, and each refusal is explained",
    async (user) => {
      await using lab = await openLab(user);
      expect(ATTEMPTS.length).toBeGreaterThanOrEqual(40);
      const results = await lab.run(ATTEMPTS, { local_sandbox_network: false });
      const succeeded = results.filter(({ exitCode, output }) => exitCode === 0 || output.includes(SECRET));
      expect(succeeded).toEqual([]);
      const unexplained = results.filter(({ notices }) => !notices.join().includes("outside_sandbox: true"));
      expect(unexplained).toEqual([]);
      expect(lab.state()).toEqual(lab.before);
    },
  );

  test.each(users)(
    "agent K8: run by %s, git commits, make builds and npm tests in the sandbox",
    async (user) => {
      await using lab = await openLab(user);
      const results = await lab.run(
        [
          "git add -A && git commit -q -m first && git log --oneline",
          "git checkout -q -b work && echo two > b && git add b && git commit -q -m second",
          "git stash list && git gc -q && git status --short",
          "printf 'all: out\\nout: a.txt\\n\\tcp a.txt out\\n' > Makefile && echo a > a.txt && make && cat out",
          'printf \'{"name":"x","version":"1.0.0","scripts":{"test":"node --test"}}\' > package.json',
          'mkdir -p dep && printf \'{"name":"dep","version":"1.0.0"}\' > dep/package.json && npm install --offline --no-audit ./dep',
          'printf \'require("node:test")("x", () => require.resolve("dep/package.json"))\' > x.test.js && npm test',
          "echo a > $TMPDIR/file && cat /tmp/file",
        ],
        {},
      );
      expect(results.filter(({ exitCode }) => exitCode !== 0)).toEqual([]);
    },
  );

  test("agent K8: with strict, files outside the project and the network are hidden too", async () => {
    await using lab = await openLab(users.at(-1) ?? "");
    const commands = ["cat ~/documents/a", "ls ~", "echo x > ~/x", "exec 3<>/dev/tcp/127.0.0.1/$PORT"];
    const results = await lab.run(commands, { local_sandbox: "strict" });
    expect(results.filter(({ exitCode }) => exitCode === 0)).toEqual([]);
    expect(results.filter(({ notices }) => !notices.join().includes("outside_sandbox: true"))).toEqual([]);
    expect(await lab.run(["git status --short && ls"], { local_sandbox: "strict" })).toMatchObject([
      { exitCode: 0 },
    ]);
  });

  test("agent K8: a folder in local_sandbox_writable is writable, but its git hooks are not", async () => {
    await using lab = await openLab(users.at(-1) ?? "");
    const commands = ["echo x > ~/documents/b", "mkdir ~/documents/.git", "cat ~/.ssh/id_rsa"];
    const results = await lab.run(commands, { local_sandbox_writable: ["~/documents"] });
    expect(results.map(({ exitCode }) => exitCode)).toEqual([0, 1, 1]);
  });

  test("agent K8: a new file that programs outside obey is reported once", async () => {
    await using lab = await openLab(users.at(-1) ?? "");
    const commands = ["mkdir .vscode && echo '{}' > .vscode/tasks.json", "echo more >> .vscode/tasks.json"];
    const [created, changed] = await lab.run(commands, {});
    expect(created?.notices.join()).toContain(`${join(lab.project, ".vscode")}`);
    expect(changed?.notices).toEqual([]);
  });

  test("agent K8: files that would redirect git to other settings are removed after the command", async () => {
    await using lab = await openLab(users.at(-1) ?? "");
    const [result] = await lab.run(["mkdir evil && echo ../evil > .git/commondir"], {});
    expect(result?.notices.join()).toContain("removed");
    expect(existsSync(join(lab.project, ".git", "commondir"))).toBe(false);
  });

  test("agent K8: such a file is also removed if a background command creates it, and a project that has one is refused", async () => {
    await using lab = await openLab(users.at(-1) ?? "");
    const file = join(lab.project, ".git", "commondir");
    const [started, waited] = await lab.run(
      [
        // In the background: it waits until the first command has ended.
        "(while [ ! -e go ]; do sleep 0.1; done; mkdir evil; echo ../evil > .git/commondir; touch made) >/dev/null 2>&1 &",
        "touch go; while [ ! -e made ] || [ -e .git/commondir ]; do sleep 0.1; done",
      ],
      {},
    );
    expect(started?.notices).toEqual([]);
    expect(waited).toMatchObject({ exitCode: 0 });
    expect(waited?.notices.join()).toContain("removed");
    writeFileSync(file, "../evil\n");
    await expect(guardProject(lab.project)).rejects.toThrow("redirects git");
  });

  test("agent K8: no command can replace a folder with hooks, or a submodule's repository, by renaming its parent", async () => {
    await using lab = await openLab(users.at(-1) ?? "");
    lab.addSubmodule();
    const results = await lab.run(
      [
        `${rename("tools", "unused")} && mkdir -p tools/hooks && echo evil > tools/hooks/pre-commit`,
        rename(".git/modules/libs", ".git/modules/unused"),
        rename(".git/modules", ".git/unused"),
        "echo evil >> .git/modules/libs/lib/config",
        "echo x > tools/other && echo x > libs/lib/other && git -C libs/lib add other",
      ],
      {},
    );
    expect(results.at(-1)).toMatchObject({ exitCode: 0, output: "" });
    expect(results.slice(0, 4).filter(({ exitCode }) => exitCode === 0)).toEqual([]);
    expect(results.slice(0, 4).filter(({ notices }) => notices.length === 0)).toEqual([]);
  });

  test("agent K8: hooks and settings of a repository inside the project are read-only, and commits in it work", async () => {
    await using lab = await openLab(users.at(-1) ?? "");
    lab.addRepository("libs/inner");
    const results = await lab.run(
      [
        "git -C libs/inner config core.fsmonitor ./evil",
        "echo evil > libs/inner/.git/hooks/pre-commit",
        rename("libs/inner", "libs/other"),
        rename("libs", "other"),
        "rm -rf libs/inner/.git/config",
        "cd libs/inner && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m second && git log --oneline | wc -l",
      ],
      {},
    );
    expect(results.slice(0, -1).filter(({ exitCode }) => exitCode === 0)).toEqual([]);
    expect(results.at(-1)).toMatchObject({ exitCode: 0, output: "1\n" });
  });

  test("agent K8: a link in place of .git/modules makes no other repository writable", async () => {
    await using lab = await openLab(users.at(-1) ?? "");
    execFileSync("git", ["init", "-q", join(lab.home, "documents", "other")]);
    symlinkSync("../../user/documents", join(lab.project, ".git", "modules"));
    lab.own();
    const commands = ["echo x > ~/documents/other/.git/x", "echo x > .git/modules/other/.git/x"];
    const results = await lab.run(commands, {});
    expect(results.map(({ exitCode }) => exitCode)).toEqual([1, 1]);
  });

  test("agent K8: where no repository exists yet, no command can create one with hooks, and nothing is left behind", async () => {
    await using lab = await openLab(users.at(-1) ?? "", { hasRepository: false });
    const commands = ["git init", "mkdir .git", "mkdir -p .git/hooks", "rmdir .git", "echo x > file"];
    const results = await lab.run(commands, {});
    expect(results.map(({ exitCode }) => exitCode === 0)).toEqual([false, false, false, false, true]);
    expect(readdirSync(lab.project).toSorted()).toEqual([".envrc", "file"]);
    const parts = { options: terminalOptions.parse({ local_sandbox: "workspace" }), cwd: lab.project };
    const variables = { PATH: process.env["PATH"] ?? "", HOME: lab.home };
    const hermesHomes = [join(lab.home, ".hermes"), join(lab.home, ".hermes")] as const;
    const never = new AbortController().signal;
    const { plan, problem } = await inspectSandbox({ ...parts, variables, hermesHomes }, never);
    expect({ placeholder: plan.placeholder, problem }).toEqual({
      placeholder: join(lab.project, ".git"),
      problem: undefined,
    });
    expect(readdirSync(lab.project).toSorted()).toEqual([".envrc", "file"]);
  });

  test("agent K8: a start folder below ~ is the project", async () => {
    await using lab = await openLab(users.at(-1) ?? "");
    const commands = ["pwd; echo x > file", "echo x > ../file"];
    const results = await lab.run(commands, { cwd: "~/documents" });
    expect(results.map(({ exitCode }) => exitCode)).toEqual([0, 1]);
    expect(existsSync(join(lab.home, "documents", "file"))).toBe(true);
  });

  test("agent K8: in the home folder nothing is writable, and the reason is given", async () => {
    await using lab = await openLab(users.at(-1) ?? "");
    const [result] = await lab.run(["echo x > ~/x"], {}, lab.home);
    expect(result).toMatchObject({ exitCode: 1 });
    expect(result?.notices.join()).toContain("contains your home folder");
  });
});

const SERVERS: { close(): void }[] = [];
afterAll(() => {
  for (const server of SERVERS) server.close();
});

/** A user with secrets, documents and a project. */
async function openLab(user: string, { hasRepository = true } = {}) {
  const folder = await tempFolder();
  const home = join(folder.path, "user");
  const project = join(folder.path, "project");
  const [hermes, documents] = [join(home, ".hermes"), join(home, "documents")];
  for (const path of [project, documents, join(hermes, "cache"), join(home, ".ssh"), join(home, ".aws")])
    mkdirSync(path, { recursive: true });
  for (const path of [".ssh/id_rsa", ".aws/credentials", ".netrc", ".hermes/.env"])
    writeFileSync(join(home, path), SECRET, { mode: 0o600 });
  writeFileSync(join(documents, "a"), "a");
  writeFileSync(join(project, ".envrc"), "export A=1\n");
  if (hasRepository) {
    execFileSync("git", ["init", "-q", project]);
    for (const [key, value] of Object.entries({ "user.name": "a", "user.email": "a@localhost" }))
      execFileSync("git", ["-C", project, "config", key, value]);
  }
  const listen = (where: string | number): Promise<ReturnType<typeof createServer>> =>
    new Promise((resolve) => {
      const server = createServer((socket) => socket.on("error", () => undefined).end(SECRET));
      server.listen(typeof where === "number" ? { port: where, host: "127.0.0.1" } : { path: where }, () =>
        resolve(server),
      );
      SERVERS.push(server);
    });
  await listen(join(home, "engine.sock"));
  const address = (await listen(0)).address();
  const port = typeof address === "object" ? String(address?.port) : "";
  const isPlain = isRoot && user !== "root";
  chmodSync(folder.path, 0o755);
  /** Makes the user the owner of all files, including those created later. */
  const own = (): void => {
    if (isPlain) execFileSync("chown", ["-R", `${NOBODY}:${NOBODY}`, folder.path]);
  };
  own();
  const state = () => ({
    home: readdirSync(home).toSorted(),
    documents: readFileSync(join(documents, "a"), "utf8"),
    ssh: readdirSync(join(home, ".ssh")),
    hooks: hasRepository && readdirSync(join(project, ".git", "hooks")).toSorted(),
    config: hasRepository && readFileSync(join(project, ".git", "config"), "utf8"),
    envrc: readFileSync(join(project, ".envrc"), "utf8"),
  });
  return {
    home,
    project,
    own,
    /** A submodule `libs/lib`, and `tools/hooks` as the folder with hooks. */
    addSubmodule(): void {
      const library = join(folder.path, "library");
      const [commit, add] = ["commit -q --allow-empty -m first", `submodule --quiet add ${library} libs/lib`];
      const git = (at: string, line: string): void => {
        const settings = ["user.name=a", "user.email=a@b", "protocol.file.allow=always", "safe.directory=*"];
        const args = [...settings.flatMap((setting) => ["-c", setting]), "-C", at, ...line.split(" ")];
        execFileSync("git", args);
      };
      execFileSync("git", ["init", "-q", library]);
      git(library, commit);
      git(project, add);
      mkdirSync(join(project, "tools", "hooks"), { recursive: true });
      git(project, "config core.hooksPath tools/hooks");
      own();
    },
    /** A repository that is not a submodule. */
    addRepository(path: string): void {
      execFileSync("git", ["init", "-q", join(project, path)]);
      own();
    },
    before: state(),
    state,
    async run(commands: readonly string[], options: object, cwd = project): Promise<SandboxedResult[]> {
      const input: SandboxedCommands = {
        options: { local_sandbox: "workspace", ...options },
        variables: {
          PATH: process.env["PATH"] ?? "",
          HOME: home,
          TMPDIR: folder.path,
          SSH_AUTH_SOCK: "/run/agent",
        },
        profileHome: hermes,
        cwd,
        commands: commands.map((command) => command.replaceAll("$PORT", port)),
      };
      await using child = startChild(CHILD, "run", input, { wrap: isPlain ? AS_NOBODY : [] });
      const results: SandboxedResult[] = [];
      for (const _ of commands) results.push(await child.next<SandboxedResult>());
      expect(await child.ended).toBe(0);
      return results;
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}
