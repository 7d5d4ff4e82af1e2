// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are texts for a shell
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkHardline } from "../../../test/support/check-hardline.ts";
import { scale } from "../../../test/support/scale.ts";
import { Meter } from "../shell-reader/meter.ts";
import { MAX_COMMAND_LENGTH } from "../shell-reader/read-command.ts";

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
const ALLOWED = [
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

/** Spells a word with quotes and escapes that do not change its meaning for a shell. */
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

describe("checkReading", () => {
  it("K4: refuses a forbidden command in every quoting", () => {
    fc.assert(
      fc.property(refusedCommand, (command) => {
        expect(checkHardline(command, FACTS)).toBeDefined();
      }),
      { numRuns: scale.cases },
    );
  });

  it("K4: refuses a forbidden command after wrappers and inside constructs", () => {
    const wrappers = fc.array(fc.constantFrom(...WRAPPERS), { maxLength: 4 });
    const nestings = fc.array(fc.constantFrom(...NESTINGS), { maxLength: 3 });
    fc.assert(
      fc.property(refusedCommand, wrappers, nestings, (command, prefixes, nests) => {
        // `exec` and redirections are not programs, so a wrapper cannot start them.
        const wrapped = prefixes.filter(
          (prefix, index) => index === 0 || /^(?:sudo|env|nice|time)/.test(prefix),
        );
        const text = nests.reduce((inner, nest) => nest(inner), wrapped.join("") + command);
        expect(checkHardline(text, FACTS), text).toBeDefined();
      }),
      { numRuns: scale.cases },
    );
  });

  it("K4: refuses a forbidden command before or after an allowed one, with every separator", () => {
    for (const allowed of ALLOWED)
      for (const separator of SEPARATORS)
        for (const words of REFUSED) {
          const refused = words.join(" ");
          expect(checkHardline(`${allowed}${separator}${refused}`, FACTS), allowed).toBeDefined();
          expect(checkHardline(`${refused}${separator}${allowed}`, FACTS), allowed).toBeDefined();
        }
  });

  it("K4: allows a forbidden command that is only mentioned as data", () => {
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
        expect(checkHardline(mention(command), FACTS), mention(command)).toBeUndefined();
      }),
      { numRuns: scale.cases },
    );
  });

  it("K1: never throws on any text, and needs a bounded number of steps per character", () => {
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
        checkHardline(command, FACTS, meter);
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
  ])("K4: reading takes linear time for a long repetition of %j", (unit) => {
    const stepsFor = (length: number) => {
      const command = `cd /; ${unit.repeat(Math.ceil(length / unit.length))}`;
      const meter = new Meter(command.length);
      checkHardline(command, FACTS, meter);
      return meter.steps;
    };
    const steps = stepsFor(40_000);
    expect(steps).toBeLessThan(2.2 * stepsFor(20_000) + 1_000);
    // Far below the limit at which the meter would stop faster growth.
    expect(steps).toBeLessThan(30 * 40_000);
  });

  it("K1: refuses a command that is too long, too deep or too complex to check", () => {
    const tooMuch = [
      " ".repeat(MAX_COMMAND_LENGTH + 1),
      `${"( ".repeat(200)}ls${" )".repeat(200)}`,
      `${"echo $(".repeat(100)}ls${")".repeat(100)}`,
      `${"sudo ".repeat(40)}ls`,
      "x='eval $x$x'; eval $x",
      `rm -rf ${"{a,b}".repeat(12)}`,
      // These make the parser read its text many times, or recurse too deeply.
      "{".repeat(40_000),
      "$[".repeat(20_000),
      "f() ".repeat(20_000),
      "<<A ".repeat(20_000),
    ];
    for (const command of tooMuch)
      expect(checkHardline(command, FACTS), command.slice(0, 60)).toMatchObject({
        rule: "limits",
      });
  });

  it("K4: a text of 200 KB with all constructs takes at most twenty steps per character", () => {
    const row = `${ALLOWED.join("\n")}\n${NESTINGS.map((nest) => nest("rm -rf ./a")).join("\n")}\n`;
    const command = row.repeat(Math.ceil(200_000 / row.length));
    const meter = new Meter(command.length);
    expect(checkHardline(command, FACTS, meter)).toBeUndefined();
    expect(meter.steps).toBeLessThan(20 * command.length);
  });

  it("K1: allows a long ordinary command, such as a file of 500 KB in a here-document", () => {
    const lines = 'const text = "it\'s"; // rm -rf / `x` $(y)\n'.repeat(11_000);
    expect(checkHardline(`cat > big.js <<'EOF'\n${lines}EOF`, FACTS)).toBeUndefined();
  });

  it("K4: recognises the home folder by its path, and protects the folders above it", () => {
    const facts = { home: "/data/people/kim" };
    expect(checkHardline("rm -rf /data/people/kim", facts)).toMatchObject({ rule: "remove-home" });
    expect(checkHardline("rm -rf /data/people", facts)).toMatchObject({ rule: "remove-home" });
    expect(checkHardline("rm -rf ~kim/*", facts)).toMatchObject({ rule: "remove-home" });
    expect(checkHardline("rm -rf /data/people/kim/x", facts)).toBeUndefined();
    expect(checkHardline("rm -rf /data/people/bob", facts)).toBeUndefined();
  });

  it("K4: recognises the home folder by ~ and $HOME if its path is unknown", () => {
    for (const command of ["rm -rf ~", "rm -rf $HOME/*", 'cd; rm -rf "${HOME}"', "cd && rm -rf *"])
      expect(checkHardline(command, { home: undefined }), command).toMatchObject({ rule: "remove-home" });
    expect(checkHardline("rm -rf ~/x", { home: undefined })).toBeUndefined();
    expect(checkHardline("rm -rf /home/$X/y", { home: undefined })).toBeUndefined();
  });

  it("M3: reports what was refused, why, that nothing lifts the refusal, and what to do instead", () => {
    const verdict = checkHardline("ls && sudo rm -rf /etc", FACTS);
    expect(verdict).toMatchObject({ rule: "remove-system" });
    const message = verdict?.message ?? "";
    expect(message).toContain("nothing was run");
    expect(message).toContain("`rm -rf /etc`");
    expect(message).toContain("no mode, setting or approval");
    expect(message).toContain("do not retry");
    expect(message).toContain("Name the exact files or folders");
  });

  it("M3: shows only the beginning of a long command", () => {
    const verdict = checkHardline(`rm -rf / ${"x".repeat(5_000)}`, FACTS);
    expect(verdict?.message.length).toBeLessThan(800);
  });
});
