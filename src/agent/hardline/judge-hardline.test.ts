// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are texts for a shell
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { scale } from "../../../test/support/scale.ts";
import { Meter } from "../shell-reader/meter.ts";
import { judgeHardline, MAX_COMMAND_LENGTH } from "./judge-hardline.ts";

const FACTS = { home: "/home/sam" };
const REFUSED = [
  ["rm", "-rf", "/"],
  ["rm", "-r", "-f", "/etc/"],
  ["rm", "-rf", "/home/sam"],
  ["mkfs.ext4", "/dev/sda1"],
  ["dd", "if=/dev/zero", "of=/dev/nvme0n1"],
  ["wipefs", "-a", "/dev/sdb"],
  ["kill", "-9", "-1"],
  ["shutdown", "-h", "now"],
  ["systemctl", "reboot"],
  ["find", "/", "-delete"],
];
const HARMLESS = [
  "ls -la",
  'echo "it\'s fine"',
  "cd /tmp/work",
  "git commit -m 'rm -rf /'",
  "cat <<'EOF'\nit's\nEOF\ntrue",
  "x=$(date)",
  "for i in a b; do echo $i; done",
  'grep "don\'t" a.txt | head',
  "f() { echo hi; }",
  "[[ $x =~ ^(a|b)$ ]]",
  "case $x in a) echo b;; esac",
  "echo $((1 << 2))",
];
const SEPARATORS = [";", " ; ", "\n", "&&", " || ", "|", " |& ", "&", " & ", "\n\n", ";\n"];
const WRAPPERS = [
  "sudo ",
  "sudo -u root ",
  "env A=b ",
  "command ",
  "exec ",
  "nohup ",
  "setsid ",
  "time ",
  "nice -n 5 ",
  "timeout 5 ",
  "stdbuf -o0 ",
  "ionice -c3 ",
  "taskset 1 ",
  "busybox ",
  "xargs ",
  "A=b ",
  "\\\n",
  "2>/dev/null ",
];
const NESTINGS: readonly ((text: string) => string)[] = [
  (text) => `( ${text} )`,
  (text) => `{ ${text}; }`,
  (text) => `echo "$( ${text})"`,
  (text) => `if ${text}; then :; fi`,
  (text) => `while true; do ${text}; done`,
  (text) => `f() { ${text}; }; f`,
  (text) => `case x in *) ${text};; esac`,
  (text) => `sh -c ${quote(text)}`,
  (text) => `eval ${quote(text)}`,
  (text) => `bash <<'END'\n${text}\nEND\n`,
  (text) => `cat <(${text})`,
  (text) => `find . -exec sh -c ${quote(text)} \\;`,
];

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** The same word for a shell, written with quotes and backslashes that change nothing. */
const spelled = (word: string) =>
  fc
    .array(fc.constantFrom("plain", "backslash", "single", "double", "empty", "ansi", "hex"), {
      minLength: word.length,
      maxLength: word.length,
    })
    .map((styles) =>
      [...word].map((character, index) => spell(character, styles[index] ?? "plain")).join(""),
    );

function spell(character: string, style: string): string {
  switch (style) {
    case "backslash":
      return `\\${character}`;
    case "single":
      return `'${character}'`;
    case "double":
      return `"${character}"`;
    case "empty":
      return `""${character}''`;
    case "ansi":
      return `$'${character}'`;
    case "hex":
      return `$'\\x${character.charCodeAt(0).toString(16)}'`;
    default:
      return character;
  }
}

const refusedCommand = fc
  .constantFrom(...REFUSED)
  .chain((words) => fc.tuple(...words.map(spelled)))
  .map((words) => words.join(" "));

describe("judgeHardline", () => {
  it("K4: refuses a refused command however it is quoted", () => {
    fc.assert(
      fc.property(refusedCommand, (command) => {
        expect(judgeHardline(command, FACTS).kind).toBe("refused");
      }),
      { numRuns: scale.cases },
    );
  });

  it("K4: refuses a refused command behind wrappers and inside constructs", () => {
    const wrappers = fc.array(fc.constantFrom(...WRAPPERS), { maxLength: 4 });
    const nestings = fc.array(fc.constantFrom(...NESTINGS), { maxLength: 3 });
    fc.assert(
      fc.property(refusedCommand, wrappers, nestings, (command, prefixes, nests) => {
        // `exec` and redirections are no programs that a wrapper could start.
        const wrapped = prefixes.filter(
          (prefix, index) => index === 0 || /^(?:sudo|env|nice|time)/.test(prefix),
        );
        const text = nests.reduce((inner, nest) => nest(inner), wrapped.join("") + command);
        expect(judgeHardline(text, FACTS), text).toMatchObject({ kind: "refused" });
      }),
      { numRuns: scale.cases },
    );
  });

  it("K4: refuses a refused command before or behind a harmless one, whatever separates them", () => {
    for (const harmless of HARMLESS)
      for (const separator of SEPARATORS)
        for (const words of REFUSED) {
          const refused = words.join(" ");
          expect(judgeHardline(`${harmless}${separator}${refused}`, FACTS), harmless).toMatchObject({
            kind: "refused",
          });
          expect(judgeHardline(`${refused}${separator}${harmless}`, FACTS), harmless).toMatchObject({
            kind: "refused",
          });
        }
  });

  it("K4: lets a mention of a refused command pass wherever it is only data", () => {
    const mentions: readonly ((text: string) => string)[] = [
      (text) => `echo ${quote(text)}`,
      (text) => `git commit -m ${quote(text)}`,
      (text) => `grep -rn ${quote(text)} .`,
      (text) => `cat > notes.md <<'END'\n${text}\nEND`,
      (text) => `ls # ${text}`,
      (text) => `x=${quote(text)}`,
      (text) => `python3 - <<'END'\nprint("""${text}""")\nEND`,
    ];
    fc.assert(
      fc.property(refusedCommand, fc.constantFrom(...mentions), (command, mention) => {
        expect(judgeHardline(mention(command), FACTS), mention(command)).toEqual({ kind: "allowed" });
      }),
      { numRuns: scale.cases },
    );
  });

  it("K1: never throws, whatever it is given, and needs a bounded number of steps for each character", () => {
    const tokens = fc.constantFrom(
      ..."rm -rf / ~ $HOME ${x:- ${ } { , $( ) ` ' \" \\ # ; & | && || < > << <<< <( (( )) $(( [[ ]] = ( if then fi for in do done case esac eval sh -c sudo xargs find -exec {} + a=b x+=y $x * ? [ ! ~+ f()".split(
        " ",
      ),
      "\n",
      " ",
      "$'",
      "<<E\n",
      "\nE\n",
      "\u200b",
      "\u001b[31m",
      "\ud800",
    );
    const text = fc.oneof(
      fc.array(tokens, { maxLength: 200 }).map((parts) => parts.join("")),
      fc.string({ unit: "binary" }),
    );
    fc.assert(
      fc.property(text, (command) => {
        const meter = new Meter(command.length);
        judgeHardline(command, FACTS, meter);
        expect(meter.steps).toBeLessThan(20_000 + command.length * 60);
      }),
      { numRuns: scale.cases },
    );
  });

  it.each([
    ..."a 'a' \"a\" \\a $x ${x} ${x:- $(a) $( `a` ` ( (( ((a)) {a, { } <<A a=1; a+=x; eval$IFSa; ~/ ../ /* | & ; )".split(
      " ",
    ),
    "sudo ",
    "env A=b ",
    "((a) );",
    "find . -exec a {} \\; ",
    "find -exec ",
    "bash -c 'a';",
    "a <<A\nA\n",
    "case a in b) c;; esac;",
    "f() { a; };",
    "[[ a ]] ;",
    "(cd a; rm b);",
    "cd a; rm b;",
    "for x in a b; do rm $x; done;",
    "echo a | sh;",
    "a='b'; $a ",
    "\u001b[",
    "\uFDFA",
  ])("K4: reading takes linear time for a long row of %j", (unit) => {
    const stepsFor = (length: number) => {
      const command = `cd /; ${unit.repeat(Math.ceil(length / unit.length))}`;
      const meter = new Meter(command.length);
      judgeHardline(command, FACTS, meter);
      return meter.steps;
    };
    const steps = stepsFor(40_000);
    expect(steps).toBeLessThan(2.2 * stepsFor(20_000) + 1_000);
    // Far from where the meter would cut a worse growth off.
    expect(steps).toBeLessThan(30 * 40_000);
  });

  it("K1: refuses what is too long, too deep or too much to judge", () => {
    const tooMuch = [
      " ".repeat(MAX_COMMAND_LENGTH + 1),
      `${"( ".repeat(200)}ls${" )".repeat(200)}`,
      `${"echo $(".repeat(100)}ls${")".repeat(100)}`,
      `${"sudo ".repeat(40)}ls`,
      "x='eval $x$x'; eval $x",
      `rm -rf ${"{a,b}".repeat(12)}`,
    ];
    for (const command of tooMuch)
      expect(judgeHardline(command, FACTS), command.slice(0, 60)).toMatchObject({
        kind: "refused",
        rule: "limits",
      });
  });

  it("K4: a text of 200 KB made of everything takes no more than twenty steps for each character", () => {
    const row = `${HARMLESS.join("\n")}\n${NESTINGS.map((nest) => nest("rm -rf ./a")).join("\n")}\n`;
    const command = row.repeat(Math.ceil(200_000 / row.length));
    const meter = new Meter(command.length);
    expect(judgeHardline(command, FACTS, meter)).toEqual({ kind: "allowed" });
    expect(meter.steps).toBeLessThan(20 * command.length);
  });

  it("K1: takes a long honest command, such as a file of 500 KB in a here-document", () => {
    const lines = 'const text = "it\'s"; // rm -rf / `x` $(y)\n'.repeat(11_000);
    expect(judgeHardline(`cat > big.js <<'EOF'\n${lines}EOF`, FACTS)).toEqual({ kind: "allowed" });
  });

  it("K4: knows the home by its path, and refuses the folders above it", () => {
    const facts = { home: "/data/people/kim" };
    expect(judgeHardline("rm -rf /data/people/kim", facts)).toMatchObject({ rule: "remove-home" });
    expect(judgeHardline("rm -rf /data/people", facts)).toMatchObject({ rule: "remove-home" });
    expect(judgeHardline("rm -rf ~kim/*", facts)).toMatchObject({ rule: "remove-home" });
    expect(judgeHardline("rm -rf /data/people/kim/x", facts)).toEqual({ kind: "allowed" });
    expect(judgeHardline("rm -rf /data/people/bob", facts)).toEqual({ kind: "allowed" });
  });

  it("K4: refuses the home by its names while its path is not known", () => {
    for (const command of ["rm -rf ~", "rm -rf $HOME/*", 'cd; rm -rf "${HOME}"', "cd && rm -rf *"])
      expect(judgeHardline(command, { home: undefined }), command).toMatchObject({ rule: "remove-home" });
    expect(judgeHardline("rm -rf ~/x", { home: undefined })).toEqual({ kind: "allowed" });
    expect(judgeHardline("rm -rf /home/$X/y", { home: undefined })).toEqual({ kind: "allowed" });
  });

  it("M3: says what was refused, why, that nothing lifts it, and what to do instead", () => {
    const verdict = judgeHardline("ls && sudo rm -rf /etc", FACTS);
    expect(verdict).toMatchObject({ kind: "refused", rule: "remove-system" });
    const message = verdict.kind === "refused" ? verdict.message : "";
    expect(message).toContain("nothing was run");
    expect(message).toContain("`rm -rf /etc`");
    expect(message).toContain("no mode, setting or approval");
    expect(message).toContain("do not retry");
    expect(message).toContain("Name the exact files or folders");
  });

  it("M3: shows only the beginning of a long command", () => {
    const verdict = judgeHardline(`rm -rf / ${"x".repeat(5_000)}`, FACTS);
    expect(verdict.kind === "refused" && verdict.message.length).toBeLessThan(800);
  });
});
