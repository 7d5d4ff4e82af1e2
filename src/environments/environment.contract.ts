import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { longEnough } from "../../test/support/long-enough.ts";
import { scale } from "../../test/support/scale.ts";
import { sharedEnvironment } from "../../test/support/shared-environment.ts";
import type {
  CommandRequest,
  CommandResult,
  Environment,
  OutputStream,
  ShellSession,
} from "./environment.ts";

/** The properties in which kinds of environments may differ. */
export interface EnvironmentTraits {
  readonly name: string;
  /** The shell that runs commands: functions and aliases survive only in bash. */
  readonly shell: "bash" | "sh";
  /** An existing folder in the environment that the test may write to. */
  readonly folder: string;
  open(): Promise<Environment>;
}

interface Run extends CommandResult {
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command and collects its output. */
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

/** Prints LATE once `FILE-go` exists, or after 150 s, and then creates FILE. */
const printsLate = (file: string): string =>
  `for i in $(seq 3000); do [ ! -e ${file}-go ] || break; sleep 0.05; done; echo LATE; echo alive > ${file}`;
/** Makes a `printsLate` process print while this command runs. */
const letPrint = (file: string): string =>
  `: > ${file}-go; while [ ! -e ${file} ]; do sleep 0.05; done; echo second`;

/** The tests that every kind of environment passes. */
export function environmentContract(traits: EnvironmentTraits): void {
  const { open, folder, shell } = traits;
  const fresh = (): string => `${folder}/t-${randomBytes(6).toString("hex")}`;

  describe(`${traits.name} keeps the contract of environments`, () => {
    // For tests that leave no running process and kill nothing.
    const openShared = sharedEnvironment(open);

    test("a failing command returns a result with separate streams", async () => {
      const environment = await openShared();
      expect(await collect(environment, "echo out; echo err >&2; exit 3")).toMatchObject({
        ended: "exited",
        exitCode: 3,
        stdout: "out\n",
        stderr: "err\n",
      });
    });

    test("`set -x` traces the command and none of the driver's lines", async () => {
      const environment = await openShared();
      expect(await collect(environment, "set -x; echo traced")).toMatchObject({
        exitCode: 0,
        stdout: "traced\n",
        stderr: expect.stringMatching(/^\++ echo traced\n$/), // bash repeats the plus sign for each nested eval
      });
      expect(await collect(environment, "set -x; exit 3")).toMatchObject({
        exitCode: 3,
        stderr: expect.stringMatching(/^\++ exit 3\n$/),
      });
    });

    test("merged streams keep the order in which they were written", async () => {
      const environment = await openShared();
      const run = await collect(environment, "for i in 1 2 3; do echo $i; echo $i >&2; done", {
        mergeStderr: true,
      });
      expect(run).toMatchObject({ stdout: "1\n1\n2\n2\n3\n3\n", stderr: "" });
    });

    test("F39: folder and exported variables stay with the session, and another session does not see them", async () => {
      const environment = await openShared();
      const [one, other] = [environment.openSession(), environment.openSession()];
      await collect(environment, `cd ${folder}; export COLOUR='light "blue" $HOME \`x\`'; unset PAGER`, {
        session: one,
      });
      const again = await collect(environment, 'pwd; echo "$COLOUR"; echo "[$PAGER]"', { session: one });
      expect(again.stdout).toBe(`${folder}\nlight "blue" $HOME \`x\`\n[]\n`);
      expect((await collect(environment, 'echo "[$COLOUR]"', { session: other })).stdout).toBe("[]\n");
    });

    test("F33: a multi-line value with quotes and escapes is preserved", async () => {
      const environment = await openShared();
      const session = environment.openSession();
      const value = 'a\'b"c\\d $(echo no)\n`e`\n declare -x FAKE="1"\nexport FAKE2=2\ttab é';
      await collect(environment, 'export TRICKY="$GIVEN"', { session, variables: { GIVEN: value } });
      const run = await collect(environment, 'printf %s "$TRICKY"; echo "[$GIVEN$FAKE$FAKE2]"', { session });
      expect(run.stdout).toBe(`${value}[]\n`);
    });

    test("a session opened from a saved shell has its folder and exported variables", async () => {
      const environment = await openShared();
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
      const environment = await openShared();
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
      "F35: functions and aliases stay with the session, including those whose names begin with an underscore",
      async () => {
        const environment = await openShared();
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
      const environment = await openShared();
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
      const environment = await openShared();
      const session = environment.openSession();
      const run = await collect(environment, command, { session });
      expect(run.ended).toBe("exited");
      if (exitCode !== undefined) expect(run.exitCode).toBe(exitCode);
      expect(await collect(environment, "echo fine", { session })).toMatchObject({
        stdout: "fine\n",
        exitCode: 0,
      });
    });

    test("a folder that does not exist gives exit code 126, and the command does not run", async () => {
      const environment = await openShared();
      const run = await collect(environment, "echo never", { workdir: "/no/such/folder" });
      expect(run).toMatchObject({ exitCode: 126, badWorkdir: true, stdout: "" });
    });

    test("a workdir with spaces, quotes and a leading dash is used literally", async () => {
      const environment = await openShared();
      const odd = `${fresh()}/-a 'b" $c`;
      await collect(environment, 'mkdir -p -- "$ODD"', { variables: { ODD: odd } });
      expect((await collect(environment, "pwd", { workdir: odd })).stdout).toBe(`${odd}\n`);
    });

    test("~ is the home folder inside the environment", async () => {
      const environment = await openShared();
      const run = await collect(environment, 'cd; pwd -P; cd "$OLDPWD"; pwd -P', { workdir: "~" });
      const [home, back] = run.stdout.split("\n");
      expect(back).toBe(home);
    });

    test("without input a command that reads gets end-of-file at once", async () => {
      const environment = await openShared();
      expect(await collect(environment, "cat; echo done")).toMatchObject({ stdout: "done\n" });
    });

    test.each(["--- a\n", "-e x", "%s\\n", "\\055", "-"])(
      "input that looks like an option or a format is passed literally: %j",
      async (input) => {
        const environment = await openShared();
        expect((await collect(environment, "cat", { stdin: input })).stdout).toBe(input);
      },
    );

    test("input arrives byte for byte, small and large", async () => {
      const environment = await openShared();
      const small = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
      expect((await collect(environment, "od -An -v -tx1 | tr -d ' \\n'", { stdin: small })).stdout).toBe(
        small.toString("hex"),
      );
      const large = randomBytes(300_000);
      expect((await collect(environment, "od -An -v -tx1 | tr -d ' \\n'", { stdin: large })).stdout).toBe(
        large.toString("hex"),
      );
    });

    test("a command right after one with large input gets a ready channel", async () => {
      const environment = await openShared();
      const large = Buffer.alloc(100_000, "x");
      for (let round = 0; round < 8; round++) {
        expect((await collect(environment, "wc -c", { stdin: large })).stdout.trim()).toBe("100000");
        expect(await collect(environment, "echo heard")).toMatchObject({
          ended: "exited",
          stdout: "heard\n",
        });
      }
    });

    test("input that pauses arrives complete, without bytes of our protocol", async () => {
      const environment = await openShared();
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

    test("a dozen concurrent commands with large input each get their own input", async () => {
      const environment = await openShared();
      const runs = await Promise.all(
        Array.from({ length: 12 }, (_, index) =>
          collect(environment, "wc -c", { stdin: Buffer.alloc(100_000 + index, "x") }),
        ),
      );
      expect(runs.map((run) => Number(run.stdout))).toEqual(runs.map((_, index) => 100_000 + index));
    });

    test("a command that does not read an endless input ends normally", async () => {
      await using environment = await open();
      const endless = async function* () {
        for (;;) yield Buffer.alloc(10_000, "y");
      };
      const run = await collect(environment, "head -c 3; exec <&-; sleep 1; echo done", { stdin: endless() });
      expect(run).toMatchObject({ ended: "exited", exitCode: 0, stdout: "yyydone\n" });
    });

    test("a command whose input fails midway is ended and never sees end-of-file", async () => {
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
      const environment = await openShared();
      const session = environment.openSession();
      await collect(environment, "true\ntrue", { session });
      const run = await collect(environment, 'echo "$LINENO"\n\nno-such-command', { session });
      expect(run.stdout).toBe("1\n");
      expect(run.stderr).toMatch(/^\S+: (?:eval: )?(?:line )?3: .*no-such-command/);
    });

    test("F34: the variables of a command are set for that command only", async () => {
      const environment = await openShared();
      const session = environment.openSession();
      const first = await collect(environment, "sh -c 'echo \"$ONCE\"'", {
        session,
        variables: { ONCE: "only now" },
      });
      expect(first.stdout).toBe("only now\n");
      expect((await collect(environment, 'echo "[$ONCE]"', { session })).stdout).toBe("[]\n");
    });

    test("output is passed on byte for byte: invalid UTF-8, NUL, no trailing newline, and text that looks like our frames", async () => {
      const environment = await openShared();
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
      const environment = await openShared();
      const run = await collect(environment, `: ${"x".repeat(1_000_000)}\necho ran`);
      expect(run).toMatchObject({ exitCode: 0, stdout: "ran\n" });
    });

    test("a long command with long input arrives unchanged and sees no variables of the driver", async () => {
      const environment = await openShared();
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

    test("F42: a timeout fires although the output is not consumed", async () => {
      await using environment = await open();
      const run = await collect(environment, "while :; do echo flood; done", {
        timeoutMs: 300,
        onOutput: () => new Promise(() => undefined),
      });
      expect(run).toMatchObject({ ended: "timed-out", exitCode: 124, survivors: [] });
      expect((await collect(environment, "echo next")).stdout).toBe("next\n");
    });

    test("F1, F2: a timeout ends the whole tree: &, setsid, env -i, and processes that ignore TERM", async () => {
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
      const haveStarted = (counts: string): boolean => kinds.every((name) => counts.includes(`-${name}\n`));
      const { run, before } = await longEnough(
        [2_500, 30_000, 100_000],
        async (timeoutMs) => ({
          run: await collect(environment, script, { timeoutMs }),
          before: await sizes(),
        }),
        ({ before }) => haveStarted(before),
      );
      expect(run).toMatchObject({ ended: "timed-out", exitCode: 124, survivors: [] });
      expect(haveStarted(before)).toBe(true);
      await new Promise((resolve) => setTimeout(resolve, 300)); // proves that nothing happens
      expect(await sizes()).toBe(before);
    });

    test("F43, F44: a stopped command has exit code 130 and its output so far; a command that exits with 130 itself does not count as stopped", async () => {
      await using environment = await open();
      const stop = new AbortController();
      let seen = "";
      const run = await collect(environment, "echo started; sleep 600", {
        signal: stop.signal,
        onOutput(_, bytes) {
          seen += Buffer.from(bytes).toString();
          stop.abort();
        },
      });
      expect(run).toMatchObject({ ended: "stopped", exitCode: 130 });
      expect(seen).toBe("started\n");
      expect((await collect(environment, "echo clean")).stdout).toBe("clean\n");
      expect(await collect(environment, "exit 130")).toMatchObject({ ended: "exited", exitCode: 130 });
    });

    test("F40: a background child does not delay the result, survives, and cannot print into the next command", async () => {
      await using environment = await open();
      const session = environment.openSession();
      const file = fresh();
      const leaveChild = `(${printsLate(file)}) & echo first`;
      expect(await collect(environment, leaveChild, { session })).toMatchObject({
        ended: "exited",
        stdout: "first\n",
      });
      expect((await collect(environment, letPrint(file), { session })).stdout).toBe("second\n");
    });

    test("a daemon in a session of its own that holds stdout neither blocks nor prints into the next command", async () => {
      await using environment = await open();
      const file = fresh();
      const leaveChild = `setsid sh -c '${printsLate(file)}' & echo first`;
      expect((await collect(environment, leaveChild)).stdout).toBe("first\n");
      expect((await collect(environment, letPrint(file))).stdout).toBe("second\n");
    });

    test("commands of several sessions run at the same time and do not mix", async () => {
      const environment = await openShared();
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
    ])("a command that kills %s gets a correct result and the next one runs", async (_, command) => {
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

    test("C31: closing twice has no effect, and a closed environment refuses commands", async () => {
      const environment = await open();
      await collect(environment, "true");
      await environment[Symbol.asyncDispose]();
      await environment[Symbol.asyncDispose]();
      await expect(collect(environment, "true")).rejects.toMatchObject({ code: "environment-closed" });
    });

    test("F38: a deleted folder gives exit code 126, and a command with a workdir still runs", async () => {
      const environment = await openShared();
      const session = environment.openSession();
      const deleted = fresh();
      await collect(environment, `mkdir -p ${deleted}; cd ${deleted}`, { session });
      await collect(environment, `rm -rf ${deleted}`);
      expect((await collect(environment, "pwd", { session })).exitCode).toBe(126);
      expect((await collect(environment, "pwd", { session, workdir: folder })).stdout).toBe(`${folder}\n`);
    });
  });
}
