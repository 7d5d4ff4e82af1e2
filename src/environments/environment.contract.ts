import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { longEnough } from "../../test/support/long-enough.ts";
import { scale } from "../../test/support/scale.ts";
import type {
  CommandRequest,
  CommandResult,
  Environment,
  OutputStream,
  ShellSession,
} from "./environment.ts";

/** What a kind of environment is like, where kinds may differ; every difference is written down here. */
export interface EnvironmentTraits {
  readonly name: string;
  /** The shell that commands meet: functions and aliases live on only in bash. */
  readonly shell: "bash" | "sh";
  /** A folder of the environment that the test may write to and that exists in it. */
  readonly folder: string;
  open(): Promise<Environment>;
}

interface Run extends CommandResult {
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command and collects what it prints. */
export async function collect(
  environment: Environment,
  command: string,
  options: Partial<CommandRequest> & { session?: ShellSession; signal?: AbortSignal } = {},
): Promise<Run> {
  const chunks: Record<OutputStream, Buffer[]> = { stdout: [], stderr: [] };
  const { signal = AbortSignal.timeout(300_000), ...rest } = options;
  const result = await environment.run(
    {
      session: environment.openSession(),
      timeoutMs: 120_000,
      onOutput: (stream, bytes) => void chunks[stream].push(Buffer.from(bytes)),
      ...rest,
      command,
    },
    signal,
  );
  const text = (stream: OutputStream): string => Buffer.concat(chunks[stream]).toString("utf8");
  return { ...result, stdout: text("stdout"), stderr: text("stderr") };
}

/** Prints when it is let, and says so in a file; what nobody lets ends by itself some time. */
const printsLate = (file: string): string =>
  `for i in $(seq 3000); do [ ! -e ${file}-go ] || break; sleep 0.05; done; echo LATE; echo alive > ${file}`;
/** Lets such a one print while this command runs. */
const letPrint = (file: string): string =>
  `: > ${file}-go; while [ ! -e ${file} ]; do sleep 0.05; done; echo second`;

/** What every environment promises. */
export function environmentContract(traits: EnvironmentTraits): void {
  const { open, folder, shell } = traits;
  const fresh = (): string => `${folder}/t-${randomBytes(6).toString("hex")}`;

  describe(`${traits.name} keeps the contract of environments`, () => {
    test("a failing command is a result, and its streams are told apart", async () => {
      await using environment = await open();
      expect(await collect(environment, "echo out; echo err >&2; exit 3")).toMatchObject({
        ended: "exited",
        exitCode: 3,
        stdout: "out\n",
        stderr: "err\n",
      });
    });

    test("merged streams keep the order in which they were written", async () => {
      await using environment = await open();
      const run = await collect(environment, "for i in 1 2 3; do echo $i; echo $i >&2; done", {
        mergeStderr: true,
      });
      expect(run).toMatchObject({ stdout: "1\n1\n2\n2\n3\n3\n", stderr: "" });
    });

    test("F39: folder and exported variables stay with the session, and another session does not see them", async () => {
      await using environment = await open();
      const [one, other] = [environment.openSession(), environment.openSession()];
      await collect(environment, `cd ${folder}; export COLOUR='light "blue" $HOME \`x\`'; unset PAGER`, {
        session: one,
      });
      const again = await collect(environment, 'pwd; echo "$COLOUR"; echo "[$PAGER]"', { session: one });
      expect(again.stdout).toBe(`${folder}\nlight "blue" $HOME \`x\`\n[]\n`);
      expect((await collect(environment, 'echo "[$COLOUR]"', { session: other })).stdout).toBe("[]\n");
    });

    test("F33: a value of several lines, with quotes and escapes, comes back as it was", async () => {
      await using environment = await open();
      const session = environment.openSession();
      const value = 'a\'b"c\\d $(echo no)\n`e`\n declare -x FAKE="1"\nexport FAKE2=2\ttab é';
      await collect(environment, 'export TRICKY="$GIVEN"', { session, variables: { GIVEN: value } });
      const run = await collect(environment, 'printf %s "$TRICKY"; echo "[$GIVEN$FAKE$FAKE2]"', { session });
      expect(run.stdout).toBe(`${value}[]\n`);
    });

    test("a session that begins with what another one saved goes on with its folder and exported variables", async () => {
      await using environment = await open();
      const value = "/a'b\"c\\d $(echo no)/`e`\ttab é";
      const path = `${folder}/saved-${randomBytes(4).toString("hex")}`;
      const session = environment.openSession();
      expect(session.save((text) => text)).toBeUndefined();
      await collect(environment, `mkdir ${path}; cd ${path}; export TRICKY="$GIVEN"; unset PAGER`, {
        session,
        variables: { GIVEN: value },
      });
      await using later = await open();
      const resumed = later.openSession(session.save((text) => text));
      const run = await collect(later, 'pwd; printf %s "$TRICKY"; echo "[$PAGER]"; cd - > /dev/null; cd -', {
        session: resumed,
      });
      expect(run.stdout).toBe(`${path}\n${value}[]\n${path}\n`);
      await collect(later, "export MORE=1; cd /", { session: resumed });
      expect(resumed.save((text) => text)).toMatchObject({
        cwd: "/",
        previousCwd: path,
        variables: { TRICKY: value, MORE: "1" },
        withheld: [],
        tooLong: [],
      });
    });

    test("no value that may be a secret is saved, only its name", async () => {
      await using environment = await open();
      const session = environment.openSession();
      await collect(
        environment,
        [
          "export API_TOKEN=short PLACE=house URL=https://me:pass@host/ KNOWN=/home/hunter2",
          "export ID=3f2504e0-4f89-41d3-9a0c-0305e82c3301 HASH=$(printf 'q7%.0s' 1 2 3 4 5 6 7 8 9)",
          "export LONG=$(printf 'word %.0s' $(seq 1000)) BYTES=$(printf '/\\377\\376')",
        ].join("; "),
        { session },
      );
      const saved = session.save((text) => text.replaceAll("hunter2", "***"));
      expect(saved?.variables).toEqual({ PLACE: "house" });
      expect(saved?.withheld.toSorted()).toEqual(["API_TOKEN", "BYTES", "HASH", "ID", "KNOWN", "URL"]);
      expect(saved?.tooLong).toEqual(["LONG"]);
    });

    test.runIf(shell === "bash")(
      "F35: functions and aliases stay with the session, those whose names begin with an underscore too",
      async () => {
        await using environment = await open();
        const session = environment.openSession();
        await collect(
          environment,
          '_word() { echo "hello $1"; }; greet() { _word "$1"; }; alias ll=\'echo listing\'',
          { session },
        );
        expect((await collect(environment, "greet you; ll", { session })).stdout).toBe(
          "hello you\nlisting\n",
        );
      },
    );

    test("F36: a shell function named cd does not break the next command", async () => {
      await using environment = await open();
      const session = environment.openSession();
      await collect(environment, "cd() { echo broken; return 1; }; printf() { echo broken; }", { session });
      expect(await collect(environment, "pwd", { session, workdir: folder })).toMatchObject({ exitCode: 0 });
    });

    test.each([
      ["exit", "exit 7", 7],
      ["set -e", "set -e; false; echo no", 1],
      ["exec", "exec sh -c 'exit 9'", 9],
      ["closed descriptors", "exec 0<&- 1>&- 2>&-; exit 4", 4],
      ["a trap", "trap 'exit 8' EXIT; true", 8],
      ["a syntax error", "if then", undefined],
    ])("%s ends that command alone", async (_, command, exitCode) => {
      await using environment = await open();
      const session = environment.openSession();
      const run = await collect(environment, command, { session });
      expect(run.ended).toBe("exited");
      if (exitCode !== undefined) expect(run.exitCode).toBe(exitCode);
      expect(await collect(environment, "echo fine", { session })).toMatchObject({
        stdout: "fine\n",
        exitCode: 0,
      });
    });

    test("a folder that does not exist is exit 126, named, and changes nothing", async () => {
      await using environment = await open();
      const run = await collect(environment, "echo never", { workdir: "/no/such/folder" });
      expect(run).toMatchObject({ exitCode: 126, badWorkdir: true, stdout: "" });
    });

    test("a workdir with spaces, quotes and a leading dash is taken as it is", async () => {
      await using environment = await open();
      const odd = `${fresh()}/-a 'b" $c`;
      await collect(environment, 'mkdir -p -- "$ODD"', { variables: { ODD: odd } });
      expect((await collect(environment, "pwd", { workdir: odd })).stdout).toBe(`${odd}\n`);
    });

    test("~ means the home of the far end", async () => {
      await using environment = await open();
      const run = await collect(environment, 'cd; pwd -P; cd "$OLDPWD"; pwd -P', { workdir: "~" });
      const [home, back] = run.stdout.split("\n");
      expect(back).toBe(home);
    });

    test("without input a command that reads sees the end at once", async () => {
      await using environment = await open();
      expect(await collect(environment, "cat; echo done")).toMatchObject({ stdout: "done\n" });
    });

    test.each(["--- a\n", "-e x", "%s\\n", "\\055", "-"])(
      "input that looks like an option or a format is taken as it is: %j",
      async (input) => {
        await using environment = await open();
        expect((await collect(environment, "cat", { stdin: input })).stdout).toBe(input);
      },
    );

    test("input arrives byte for byte, small and large", async () => {
      await using environment = await open();
      const small = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
      expect((await collect(environment, "od -An -v -tx1 | tr -d ' \\n'", { stdin: small })).stdout).toBe(
        small.toString("hex"),
      );
      const large = randomBytes(300_000);
      expect((await collect(environment, "od -An -v -tx1 | tr -d ' \\n'", { stdin: large })).stdout).toBe(
        large.toString("hex"),
      );
    });

    test("a command straight after one with large input gets a channel that listens", async () => {
      await using environment = await open();
      const large = Buffer.alloc(100_000, "x");
      for (let round = 0; round < 8; round++) {
        expect((await collect(environment, "wc -c", { stdin: large })).stdout.trim()).toBe("100000");
        expect(await collect(environment, "echo heard")).toMatchObject({
          ended: "exited",
          stdout: "heard\n",
        });
      }
    });

    test("input that pauses arrives whole, with nothing of ours in it", async () => {
      await using environment = await open();
      const pauses = async function* () {
        yield Buffer.from("begin\n");
        for (const ms of scale.pausesMs) {
          await new Promise((resolve) => setTimeout(resolve, ms));
          yield Buffer.from(`after ${ms}\n`);
        }
      };
      const run = await collect(environment, "cat", { stdin: pauses() });
      const expected = ["begin", ...scale.pausesMs.map((ms) => `after ${ms}`), ""].join("\n");
      expect(run).toMatchObject({ ended: "exited", exitCode: 0, stdout: expected, notices: [] });
    });

    test("a dozen commands with large input at once all get theirs", async () => {
      await using environment = await open();
      const runs = await Promise.all(
        Array.from({ length: 12 }, (_, index) =>
          collect(environment, "wc -c", { stdin: Buffer.alloc(100_000 + index, "x") }),
        ),
      );
      expect(runs.map((run) => Number(run.stdout))).toEqual(runs.map((_, index) => 100_000 + index));
    });

    test("a command that leaves an endless input unread ends as it would alone", async () => {
      await using environment = await open();
      const endless = async function* () {
        for (;;) yield Buffer.alloc(10_000, "y");
      };
      const run = await collect(environment, "head -c 3; exec <&-; sleep 1; echo done", { stdin: endless() });
      expect(run).toMatchObject({ ended: "exited", exitCode: 0, stdout: "yyydone\n" });
    });

    test("a command whose input cannot be read to its end is ended and never sees an end", async () => {
      await using environment = await open();
      const file = fresh();
      const broken = async function* () {
        yield Buffer.alloc(100_000, "z");
        throw new Error("the disk went away");
      };
      const run = await collect(environment, `cat > ${file}; mv ${file} ${file}-whole`, { stdin: broken() });
      expect(run).toMatchObject({ ended: "lost", exitCode: 125, survivors: [] });
      expect(run.notices.join()).toContain("the disk went away");
      expect((await collect(environment, `ls ${file}-whole`)).exitCode).not.toBe(0);
    });

    test("errors and LINENO count the lines of the command", async () => {
      await using environment = await open();
      const session = environment.openSession();
      await collect(environment, "true\ntrue", { session });
      const run = await collect(environment, 'echo "$LINENO"\n\nno-such-command', { session });
      expect(run.stdout).toBe("1\n");
      expect(run.stderr).toMatch(/^\S+: (?:eval: )?(?:line )?3: .*no-such-command/);
    });

    test("F34: variables of one command reach it and do not stay", async () => {
      await using environment = await open();
      const session = environment.openSession();
      const first = await collect(environment, "sh -c 'echo \"$ONCE\"'", {
        session,
        variables: { ONCE: "only now" },
      });
      expect(first.stdout).toBe("only now\n");
      expect((await collect(environment, 'echo "[$ONCE]"', { session })).stdout).toBe("[]\n");
    });

    test("output is bytes: invalid UTF-8, NUL, no newline at the end, and what looks like our own frames", async () => {
      await using environment = await open();
      const chunks: Buffer[] = [];
      const run = await collect(environment, "printf 'a\\377\\000b;X0;C0;'; trap; printf end", {
        onOutput: (_, bytes) => void chunks.push(Buffer.from(bytes)),
      });
      const all = Buffer.concat(chunks).toString("latin1");
      expect(run.exitCode).toBe(0);
      expect(all.startsWith("a\u00ff\u0000b;X0;C0;")).toBe(true);
      expect(all.endsWith("end")).toBe(true);
    });

    test("a command of a megabyte runs", async () => {
      await using environment = await open();
      const run = await collect(environment, `: ${"x".repeat(1_000_000)}\necho ran`);
      expect(run).toMatchObject({ exitCode: 0, stdout: "ran\n" });
    });

    test("a long command with long input arrives as it is and finds nothing of ours", async () => {
      await using environment = await open();
      const filler = `: '${"it is a 'quoted' $word\\ ".repeat(300).replaceAll("'", "'\\''")}'`;
      for (const input of ["ü%\\'\n".repeat(2_000), "a\0b".repeat(30_000)]) {
        const run = await collect(environment, `${filler}\nset | grep -c '^__h_text' ; cat`, {
          stdin: input,
        });
        expect(run).toMatchObject({ exitCode: 0, stdout: `0\n${input}` });
      }
    });

    test("an endless line is passed on with back-pressure and can be stopped", async () => {
      await using environment = await open();
      let seen = 0;
      const stop = new AbortController();
      const run = await collect(environment, "while :; do printf 0123456789; done", {
        signal: stop.signal,
        onOutput(_, bytes) {
          seen += bytes.length;
          if (seen > 100_000) stop.abort();
          return new Promise((resolve) => setTimeout(resolve, 1));
        },
      });
      expect(run).toMatchObject({ ended: "stopped", exitCode: 130 });
      expect((await collect(environment, "echo next")).stdout).toBe("next\n");
    });

    test("F42: a timeout fires although nobody takes the output", async () => {
      await using environment = await open();
      const run = await collect(environment, "while :; do echo flood; done", {
        timeoutMs: 300,
        onOutput: () => new Promise(() => undefined),
      });
      expect(run).toMatchObject({ ended: "timed-out", exitCode: 124, survivors: [] });
      expect((await collect(environment, "echo next")).stdout).toBe("next\n");
    });

    test("F1, F2: a timeout ends the whole tree: &, setsid, env -i, and what ignores TERM", async () => {
      await using environment = await open();
      const beat = fresh();
      const kinds = ["plain", "setsid", "envi", "stubborn"] as const;
      const loop = (name: (typeof kinds)[number]): string =>
        `while :; do echo x >> ${beat}-${name}; sleep 0.05; done`;
      const script = [
        `(${loop("plain")}) &`,
        `setsid sh -c '${loop("setsid")}' &`,
        `env -i PATH="$PATH" sh -c '${loop("envi")}' &`,
        `(trap "" TERM; ${loop("stubborn")}) &`,
        "wait",
      ].join("\n");
      const sizes = async () => (await collect(environment, `wc -l ${beat}-*`)).stdout;
      const haveBegun = (counts: string): boolean => kinds.every((name) => counts.includes(`-${name}\n`));
      const { run, before } = await longEnough(
        [2_500, 30_000, 100_000],
        async (timeoutMs) => ({
          run: await collect(environment, script, { timeoutMs }),
          before: await sizes(),
        }),
        ({ before }) => haveBegun(before),
      );
      expect(run).toMatchObject({ ended: "timed-out", exitCode: 124, survivors: [] });
      expect(haveBegun(before)).toBe(true);
      await new Promise((resolve) => setTimeout(resolve, 300)); // proves that nothing happens
      expect(await sizes()).toBe(before);
    });

    test("F43, F44: a stop is exit 130 with the output so far, and a command that exits 130 itself is not a stop", async () => {
      await using environment = await open();
      const stop = new AbortController();
      let seen = "";
      const run = await collect(environment, "echo begun; sleep 600", {
        signal: stop.signal,
        onOutput(_, bytes) {
          seen += Buffer.from(bytes).toString();
          stop.abort();
        },
      });
      expect(run).toMatchObject({ ended: "stopped", exitCode: 130 });
      expect(seen).toBe("begun\n");
      expect((await collect(environment, "echo clean")).stdout).toBe("clean\n");
      expect(await collect(environment, "exit 130")).toMatchObject({ ended: "exited", exitCode: 130 });
    });

    test("F40: a child left behind does not hold the result, lives on, and cannot print into the next command", async () => {
      await using environment = await open();
      const session = environment.openSession();
      const file = fresh();
      const left = `(${printsLate(file)}) & echo first`;
      expect(await collect(environment, left, { session })).toMatchObject({
        ended: "exited",
        stdout: "first\n",
      });
      expect((await collect(environment, letPrint(file), { session })).stdout).toBe("second\n");
    });

    test("a daemon in a session of its own that holds stdout neither blocks nor prints into the next command", async () => {
      await using environment = await open();
      const file = fresh();
      const left = `setsid sh -c '${printsLate(file)}' & echo first`;
      expect((await collect(environment, left)).stdout).toBe("first\n");
      expect((await collect(environment, letPrint(file))).stdout).toBe("second\n");
    });

    test("commands of several sessions run at the same time and do not mix", async () => {
      await using environment = await open();
      const runs = await Promise.all(
        Array.from({ length: 12 }, (_, index) =>
          collect(environment, `echo a${index}; sleep 0.2; echo b${index}`),
        ),
      );
      expect(runs.map((run) => run.stdout)).toEqual(runs.map((_, index) => `a${index}\nb${index}\n`));
    });

    test.each([
      ["its parent", "kill -9 $PPID; sleep 0.2; echo on"],
      ["its own shell", "kill -9 $$; sleep 0.2; echo on"],
      ["its group", "kill -9 0"],
    ])("a command that kills %s gets a true answer and the next one runs", async (_, command) => {
      await using environment = await open();
      const run = await collect(environment, command);
      expect(["exited", "lost"]).toContain(run.ended);
      if (run.ended === "lost") expect(run.notices.join()).toMatch(/not run again/);
      expect((await collect(environment, "echo next")).stdout).toBe("next\n");
    });

    test.each([
      ["TERM", 143],
      ["HUP", 129],
    ])(
      "a command that ends its own shell with %s has the exit code %i, and the next one runs",
      async (name, code) => {
        await using environment = await open();
        const run = await collect(environment, `kill -${name} $$; sleep 0.2; exit 0`);
        expect(run).toMatchObject({ ended: "exited", exitCode: code });
        expect((await collect(environment, "echo next")).stdout).toBe("next\n");
      },
    );

    test("C31: closing twice is harmless, and a closed environment refuses instead of pretending", async () => {
      const environment = await open();
      await collect(environment, "true");
      await environment[Symbol.asyncDispose]();
      await environment[Symbol.asyncDispose]();
      await expect(collect(environment, "true")).rejects.toMatchObject({ code: "environment-closed" });
    });

    test("F38: a deleted folder is told by exit 126 and a workdir leads out of it", async () => {
      await using environment = await open();
      const session = environment.openSession();
      const gone = fresh();
      await collect(environment, `mkdir -p ${gone}; cd ${gone}`, { session });
      await collect(environment, `rm -rf ${gone}`);
      expect((await collect(environment, "pwd", { session })).exitCode).toBe(126);
      expect((await collect(environment, "pwd", { session, workdir: folder })).stdout).toBe(`${folder}\n`);
    });
  });
}
