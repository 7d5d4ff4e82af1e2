// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are texts for a shell
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { scale } from "../../../test/support/scale.ts";
import { findInvocations } from "./find-invocations.ts";
import { Meter } from "./meter.ts";

function read(text: string) {
  return findInvocations(text, { home: "/home/sam" }, new Meter(text.length));
}

function commandsOf(text: string): string[][] {
  return read(text).invocations.map(({ name, args }) => [name, ...args]);
}

/** Runs a text in a bash that can start no program but itself, and returns the arguments of the function `mark`. */
function runInBash(text: string): ReadonlySet<string> {
  const folder = mkdtempSync(join(tmpdir(), "shell-reader-"));
  try {
    const prelude = 'mark() { echo "<$1>" >&3; }; cat() { :; }; export -f mark cat; eval "$TEXT"';
    const { output } = spawnSync(
      "bash",
      ["--noprofile", "--norc", "-c", `PATH=; bash() { "$BASH" "$@"; }; ${prelude}`],
      {
        cwd: folder,
        env: { PATH: process.env["PATH"], TEXT: text },
        stdio: ["ignore", "ignore", "ignore", "pipe"],
        encoding: "utf8",
        timeout: 150_000,
      },
    );
    return new Set([...(output[3] ?? "").matchAll(/<(\w+)>/g)].map((match) => match[1] ?? ""));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

describe("findInvocations", () => {
  it("finds wrapped programs and the wrappers themselves", () => {
    expect(commandsOf("sudo -u root env A=b /bin/ls -l")).toEqual([
      ["sudo", "-u", "root", "env", "A=b", "/bin/ls", "-l"],
      ["env", "A=b", "/bin/ls", "-l"],
      ["ls", "-l"],
    ]);
  });

  it("lists the files that a command opens, including those of compound commands", () => {
    const { invocations } = read("{ a >x; } >>y 2>&1; b <z");
    expect(
      invocations.flatMap(({ files }) => files.map(({ operator, path }) => `${operator}${path}`)),
    ).toEqual([">>y", ">&1", ">x", "<z"]);
  });

  it("tracks the working folder until it becomes unknown", () => {
    const folders = (text: string) =>
      read(text)
        .invocations.filter(({ name }) => name === "x")
        .map(({ cwd }) => cwd);
    expect(folders("x; cd /a; x; cd b; x; (cd /c; x); x; cd - ; x")).toEqual([
      undefined,
      "/a",
      "/a/b",
      "/c",
      "/a/b",
      undefined,
    ]);
  });

  it("keeps all values that a variable may have", () => {
    expect(commandsOf("A=1; A=2; B=3; if c; then B=4; fi; x $A $B $C")).toContainEqual([
      "x",
      "2",
      "4",
      "3",
      "\uFFFC",
    ]);
  });

  it("gives a new shell its own positional parameters", () => {
    expect(commandsOf("bash -c 'bash -c \"x a\\$1b\"; x c$1$2' _ d")).toEqual(
      expect.arrayContaining([
        ["x", "ab"],
        ["x", "cd"],
      ]),
    );
  });

  it("marks commands that run on another machine", () => {
    const remote = read("a; ssh host 'b; c' ; d").invocations.filter((invocation) => invocation.remote);
    expect(remote.map(({ name }) => name)).toEqual(["b", "c"]);
  });

  it("expands words as bash does", () => {
    const part = fc.constantFrom(
      ...'a|b c|\'|\'it"s\'|"d e"|"it\'s"|\\ |\\\'|\\"|$\'x\\ty\'|$\'\\x41\\\'\'|{p,q}|{r,{s,t}}|{u}|{,v}|~/w|"$V"|${V}|${N:-n m}|"${N:-it\'s}"|${V:+z}|${E}|"$E"|$(echo h i)|"$(echo h i)"|`echo j`|\\\\|=|,|}|{|"\\$x"'.split(
        "|",
      ),
    );
    const words = fc.array(
      fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => parts.join("")),
      {
        minLength: 1,
        maxLength: 40,
      },
    );
    fc.assert(
      fc.property(words, (samples) => {
        const closed = samples.filter((sample) => read(`x ${sample}`).malformed === undefined);
        const setup = "V='k  l'; E=''; unset N;";
        const script = closed.map((sample) => `printf '%s\\0' ${sample} ; printf '\\1\\0'`).join("\n");
        const { stdout } = spawnSync("bash", ["--noprofile", "--norc", "-c", `set -f; ${setup}\n${script}`], {
          env: { PATH: process.env["PATH"], HOME: "/home/sam" },
          encoding: "utf8",
        });
        const expected = stdout.split("\x01\0").slice(0, -1);
        const ours = closed.map((sample) => {
          const found = read(`${setup} x ${sample}`).invocations.find(({ name }) => name === "x");
          return found?.args ?? [];
        });
        for (const [index, sample] of closed.entries()) {
          const fields = (expected[index] ?? "").split("\0").slice(0, -1);
          // printf without arguments still prints once; the reader drops control characters from arguments.
          const plain = fields.map((field) => field.replaceAll("\t", ""));
          expect(ours[index]?.length ? ours[index] : [""], sample).toEqual(plain);
        }
      }),
      { numRuns: scale.scripts, seed: 20_261 },
    );
  });

  it("finds every command that bash runs, in arbitrarily nested texts", () => {
    const leaf = fc
      .nat({ max: 99_999 })
      .chain((id) =>
        fc.constantFrom(
          `mark ${id}`,
          `"mark" ${id}`,
          `m\\ark ${id}`,
          `x=1 mark ${id}`,
          `2>/dev/null mark ${id}`,
          `command mark ${id}`,
          `$'mark' ${id}`,
          `mark \\\n ${id}`,
          `mark ${id} "it's" # it's\n`,
          `mark ${id} <<A${id}\nit's "\nA${id}\n`,
        ),
      );
    const { script } = fc.letrec<{ script: string }>((tie) => {
      const inner = tie("script");
      const one = (wrap: (a: string) => string) => inner.map(wrap);
      const two = (wrap: (a: string, b: string) => string) =>
        fc.tuple(inner, inner).map(([a, b]) => wrap(a, b));
      return {
        script: fc.oneof(
          { depthSize: "small", maxDepth: 4, withCrossShrink: true },
          leaf,
          two((a, b) => `${a}; ${b}`),
          two((a, b) => `${a}\n${b}`),
          two((a, b) => `${a} && ${b}`),
          two((a, b) => `! ${a} || ${b}`),
          two((a, b) => `${a} | ${b}`),
          two((a, b) => `${a} & ${b}\nwait`),
          two((a, b) => `if ${a}; then ${b}; fi`),
          two((a, b) => `case x in a|b) ${a};; *) ${b}\nesac`),
          one((a) => `(${a}\n)`),
          one((a) => `{ ${a}\n}`),
          one((a) => `for i in a 'b c'; do ${a}\ndone`),
          one((a) => `while ${a}; do break; done`),
          one((a) => `echo "$(${a}\n)"`),
          one((a) => `echo \`${a.replace(/[\\`$]/g, "\\$&")}\``),
          one((a) => `eval ${quote(a)}`),
          one((a) => `bash -c ${quote(a)}`),
          one((a) => `f() { ${a}\n}; f`),
          one((a) => `cat <(${a}\n); wait`),
          one((a) => `[[ -z "$(${a}\n)" ]]`),
          one((a) => `echo $((1 + $(${a}\necho 1)))`),
          one((a) => `echo "\${nope:-it is $(${a}\n)}"`),
          one((a) => `bash <<< ${quote(a)}`),
          one((a) => `echo ${quote(a)} | bash`),
          one((a) => `arr=(a $(${a}\n) b)`),
          one((a) => `v='bash -c'; w=${quote(a)}; $v "$w"`),
          one((a) => `bash -c 'eval "$1"' _ ${quote(a)}`),
        ),
      };
    });
    const noise = fc.constantFrom(
      "",
      "",
      "",
      "'",
      '"',
      "\\",
      "`",
      "(",
      ")",
      "{",
      "}",
      "$",
      "#",
      ";",
      "&",
      "|",
      "\n",
      "<",
      "$(",
    );
    fc.assert(
      fc.property(script, noise, fc.double({ min: 0, max: 1, noNaN: true }), (valid, extra, position) => {
        const at = Math.floor(valid.length * position);
        const text = valid.slice(0, at) + extra + valid.slice(at);
        const { invocations, malformed } = read(text);
        if (extra === "") expect(malformed, text).toBeUndefined();
        if (malformed !== undefined) return;
        const found = new Set(invocations.filter(({ name }) => name === "mark").map(({ args }) => args[0]));
        for (const id of runInBash(text)) expect(found.has(id), `${text}\nruns ${id}`).toBe(true);
      }),
      { numRuns: scale.scripts, seed: 4_711 },
    );
  });
});
