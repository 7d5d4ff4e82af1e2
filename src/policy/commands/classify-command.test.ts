// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are texts for a shell
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { scale } from "../../../test/support/scale.ts";
import { checkReading } from "../hardline/check-hardline.ts";
import { Meter } from "../shell-reader/meter.ts";
import { readCommand } from "../shell-reader/read-command.ts";
import { quoteWords } from "./arguments.ts";
import { classifyCommand, type Finding } from "./classify-command.ts";
import { isReadOnly } from "./read-only.ts";

const FACTS = { home: "/home/ann", cwd: "/home/ann/project", hermesHome: "/home/ann/.hermes" };
const ASKED: readonly (readonly string[])[] = [
  ["rm", "-rf", "src"],
  ["rm", "-r", "-f", "/home/ann/Documents"],
  ["git", "reset", "--hard", "HEAD~3"],
  ["git", "push", "--force"],
  ["chmod", "-R", "777", "."],
  ["cat", "/home/ann/.ssh/id_rsa"],
  ["cp", "x", "/etc/hosts"],
  ["tee", "/home/ann/.bashrc"],
  ["systemctl", "stop", "nginx"],
  ["docker", "rm", "-f", "api"],
  ["npm", "publish"],
  ["psql", "-c", "DROP TABLE users"],
  ["kubectl", "delete", "pod", "x"],
  ["dd", "if=a", "of=b"],
  ["python3", "-c", "import shutil; shutil.rmtree('src')"],
  ["find", ".", "-name", "*.ts", "-delete"],
];
const quote = (text: string) => quoteWords([text]);
const WORD_SPELLINGS: readonly ((word: string) => string)[] = [
  quote,
  (word) => `"${word.replace(/["$`\\]/g, "\\$&")}"`,
  (word) => word.replace(/[^\w]/g, "\\$&"),
  (word) => `$'${word.replace(/['\\]/g, "\\$&")}'`,
  (word) => `${quote(word.slice(0, 1))}""${quote(word.slice(1))}`,
];
const DISGUISES: readonly ((text: string) => string)[] = [
  (text) => `sh -c ${quote(text)}`,
  (text) => `bash -lc ${quote(text)}`,
  (text) => `eval ${quote(text)}`,
  (text) => `echo ${quote(text)} | sh`,
  (text) => `bash <<< ${quote(text)}`,
  (text) => `bash <<'END'\n${text}\nEND\n`,
  (text) => `V=${quote(text)}; eval "$V"`,
  (text) => `V=${quote(text)}; bash -c "$V"`,
  (text) => `f() { ${text}\n}; f`,
  (text) => `if true; then ${text}\nfi`,
  (text) => `( ${text}\n) 2>&1 | tail -5`,
  (text) => `cd src && { ${text}\n}`,
  (text) => `x=$(${text}\n)`,
  (text) => `npm test; ${text}`,
  (text) => `nice timeout 5 env A=b bash -c ${quote(text)}`,
  (text) => `xargs -I{} sh -c ${quote(text)} < list`,
  (text) => `find . -name x -exec sh -c ${quote(text)} \\;`,
  (text) => `python3 -c ${quote(`import os; os.system(${JSON.stringify(text)})`)}`,
  (text) => `node -e ${quote(`require("child_process").execSync(${JSON.stringify(text)})`)}`,
  (text) => `uv run sh -c ${quote(text)}`,
  (text) => `docker exec web sh -c ${quote(text)}`,
  (text) => `git -c alias.x=${quote(`!${text}`)} x`,
];

function find(text: string): readonly Finding[] | "refused" {
  const reading = readCommand(text, FACTS);
  if ("unreadable" in reading || checkReading(reading, FACTS)) return "refused";
  return classifyCommand(reading, FACTS);
}

describe("classifyCommand", () => {
  it.each([
    "echo 'rm -rf src' | xargs -I% sh -c %",
    "echo '\"rm -rf src\"' | xargs bash -c",
    "echo 'rm -rf src' | xargs -d '\\n' bash -c",
    "awk -v c='rm -rf src' 'BEGIN{system(c)}'",
    'awk \'BEGIN{print "rm -rf src" | "sh"}\'',
    "echo 'rm -rf src' | awk '{system($0)}'",
    "sed '1e rm -rf src' x",
    "sed 's/.*/rm -rf src/e' x",
    "tar cf a.tar x --checkpoint=1 --checkpoint-action=exec='rm -rf src'",
    "tar cf a.tar --remove-files src",
    "make -f - <<< $'all:\\n\\trm -rf src'",
    "printf 'all:\\n\\trm -rf src\\n' | make -f -",
    "npm exec -c 'rm -rf src'",
    "npx -c 'rm -rf src'",
    "sqlite3 x.db '.shell rm -rf src'",
    "sqlite3 x.db '.system rm -rf src'",
    "gdb -ex 'shell rm -rf src'",
    "gdb -batch -ex '!rm -rf src'",
    "GIT_SSH_COMMAND='rm -rf src' git fetch",
    "GIT_EXTERNAL_DIFF='rm -rf src' git diff",
    "env GIT_SSH_COMMAND='rm -rf src' git fetch",
    "export PROMPT_COMMAND='rm -rf src'",
    "EDITOR='rm -rf src' git commit",
    "BASH_ENV='$(rm -rf src)' bash -c :",
    "bash --rcfile <(echo 'rm -rf src') -i",
    "exec 3<<<'rm -rf src'; . /dev/fd/3",
    "compgen -C 'rm -rf src' x",
    "/lib64/ld-linux-x86-64.so.2 /bin/rm -rf src",
    "ld.so /bin/rm -rf src",
    "python3 -c \"getattr(__import__('shutil'),'rm'+'tree')('src')\"",
    "start-stop-daemon --start -x /bin/rm -- -rf src",
    "dbus-run-session rm -rf src",
    "dbus-run-session -- rm -rf src",
    "python3 -c \"import shutil; getattr(shutil,'rm'+'tree')('src')\"",
    "ln -s /bin/rm z; ./z -rf src",
    "cp /bin/rm z && ./z -rf src",
    "cp $(which rm) /tmp/z && /tmp/z -rf src",
    "hash -p /bin/rm zed; zed -rf src",
    "git -c alias.x='!rm -rf src' x",
    "git config alias.x '!rm -rf src'",
    "git config --global alias.x '!rm -rf src'",
    "git config set alias.x '!rm -rf src'",
    "git bisect run rm -rf src",
    "git bisect run sh -c 'rm -rf src'",
    "git submodule foreach 'rm -rf src'",
    "git submodule foreach --recursive rm -rf src",
    "git rebase --exec 'rm -rf src' main",
    "git rebase -x 'rm -rf src' main",
    "git rebase --exec='rm -rf src' main",
  ])("K4: commands that another program would run are inspected: %s", (text) => {
    expect(find(text)).toContainEqual(expect.objectContaining({ class: "recursive-removal" }));
  });

  it.each([
    ["export X='rm -rf src'", "recursive-removal"],
    ["declare -x X='git push --force'", "git-force-push"],
    ["export PATH=$PWD:$PATH", "injected-code"],
    ["PATH=. ls", "injected-code"],
    ["echo x > .git/hooks/post-commit", "injected-code"],
    ["tee -a .git/config < x", "injected-code"],
    ["cp x .git/modules/a/hooks/pre-push", "injected-code"],
  ])("K4: code that a later command would run needs an answer now: %s", (text, name) => {
    expect(find(text)).toContainEqual(expect.objectContaining({ class: name }));
  });

  it.each([
    "export PATH=\"$PWD/node_modules/.bin:$PATH\" CFLAGS='-O2 -g'",
    "export MESSAGE='ready to deploy' PS1='[\\u@\\h \\W]\\$ '",
    "cp x .git/hooks/pre-push.sample; cat .git/config; git config user.name Ann",
  ])("K4: ordinary exports and files of git run unasked: %s", (text) => {
    expect(find(text)).toEqual([]);
  });

  it.each([
    "find . -name '*.ts' -exec sh -c 'rm \"$1\"' _ {} \\;",
    "find . -name '*.ts' -exec bash -c 'rm -f -- \"$@\"' _ {} +",
    "cat list | xargs sh -c 'rm \"$@\"' _",
  ])("K4: a script that removes every file it is given needs an answer: %s", (text) => {
    expect(find(text)).toContainEqual(expect.objectContaining({ class: "bulk-removal" }));
  });

  it.each([
    "cat list | xargs -I% sh -c %",
    "cat list | xargs -n1 bash -c",
    "cat x | awk '{system($0)}'",
    "sed -e 's/x/y/e' f",
  ])("K4: running the lines of a file needs an answer: %s", (text) => {
    expect(find(text)).toContainEqual(expect.objectContaining({ class: "decoded-code" }));
  });

  it.each([
    "EDITOR=vim git commit; PAGER='less -R' git log",
    "GIT_SSH_COMMAND='ssh -i key -o IdentitiesOnly=yes' git fetch",
    "ENV=production npm start; BASH_ENV=~/.env.sh bash -c 'npm test'",
    "cp x.sh x.bak; cp x.bak x.sh; ./x.sh",
    "ln -s /usr/bin/python3 py && ./py x.py",
    "ls *.md | xargs -I{} sh -c 'head -1 {}'",
    "printf 'a b\\nc' | xargs -n1 echo",
    "sed -e 's/one/two/' -e '/e x/d' f; sed 's/^e //' f",
    "awk '{print $1 | \"sort\"}' x; awk 'BEGIN{system(\"date\")}'",
    "make -j4 test; tar czf a.tgz src --checkpoint=100 --checkpoint-action=dot",
    "git config core.pager less; git config alias.st status; git bisect run npm test",
    "git submodule foreach --quiet git pull; sqlite3 x.db .tables; gdb -batch -ex run -ex bt ./a.out",
    "npx -c 'eslint src'; dbus-run-session -- npm test",
  ])("K4: everyday commands of such programs need no answer: %s", (text) => {
    expect(find(text)).toEqual([]);
  });

  it.each([
    "$(which rm) -rf src",
    "`which rm` -rf src",
    "$(command -v rm) -rf src",
    "$(type -P rm) -rf src",
    "$(echo mr | rev) -rf src",
    "/bin/r? -rf src",
    "/bin/r[m] -rf src",
    "/b*/r? -r src",
    'a=(rm -rf src); "${a[@]}"',
    'a=(rm); a+=(-rf src); "${a[@]}"',
    'a[0]=rm; a[1]=-rf; "${a[@]}" src',
    "a=(x rm); ${a[1]} -rf src",
    'declare -a a=(rm -rf src); "${a[@]}"',
    'set -- rm -rf src; "$@"',
    'set -- -rf src; rm "$@"',
    'set -- x -rf src; shift; rm "$@"',
    'read -r x <<< "rm -rf src"; $x',
    'read -r x y <<< "rm -rf"; $x $y src',
    'read -ra x <<< "rm -rf src"; "${x[@]}"',
    "echo rm -rf src | { read -r x; $x; }",
    "mapfile -t x <<< $'rm\\n-rf\\nsrc'; \"${x[@]}\"",
    "printf -v c 'rm -rf %s' src; $c",
    "IFS=,; x=rm,-rf,src; $x",
    "y=rm; x=y; ${!x} -rf src",
    "y=rm; declare -n x=y; $x -rf src",
    "x=Xrm; ${x#X} -rf src",
    "x=rmX; ${x%X} -rf src",
    "x=abrmc; ${x:2:2} -rf src",
    "x=mr; ${x:1:1}${x:0:1} -rf src",
    "x=RM; ${x,,} -rf src",
    "x=rm_-rf_src; ${x//_/ }",
    "x=rm; ${x@P} -rf src",
  ])("K4: the name of a program that the text computes is found: %s", (text) => {
    expect(find(text)).toContainEqual(expect.objectContaining({ class: "recursive-removal" }));
  });

  it.each([
    "$(cat name) -rf src",
    "$(cat name)",
    "x=$(cat name); $x src",
    'x=$(cat name); "$x" src',
    "read -r x < name; $x",
    "$X -rf src",
    "/opt/tools/q? -r src",
    "x=abc; ${x#$y} src",
  ])("K4: a program whose name is computed at run time needs an answer: %s", (text) => {
    expect(find(text)).toContainEqual(expect.objectContaining({ class: "unknown-program" }));
  });

  it.each([
    "$PYTHON script.py",
    '"$CC" -o x x.c',
    "$" + "{NPM:-npm} test",
    "$(npm bin)/eslint src",
    "$(which python3) script.py",
    'PY=$(command -v python3 || command -v python); "$PY" -m pytest',
    "$GREP -r todo src",
    "./build/test_* --quick",
    'cmd=(docker run --rm alpine); cmd+=(ls); "${cmd[@]}"',
    "for t in build dev; do npm run $t; done",
    "env $(cat .env.example | xargs) npm start",
    'while read -r f; do echo "$f"; done < list',
    "$(go env GOPATH)/bin/air -c x",
    "[ -f x ] && [[ -d y ]]",
    "set -euo pipefail; npm test",
  ])("K4: everyday programs from variables need no answer: %s", (text) => {
    expect(find(text)).toEqual([]);
  });

  it("K4: a finding shows the class, the effect and the command", () => {
    expect(find("npm test && rm -rf src")).toEqual([
      { class: "recursive-removal", effect: "removes src and everything in it", command: "rm -rf src" },
    ]);
  });

  it.each([
    ["npm publish", "publishes a package"],
    ["npm unpublish left-pad@1", "withdraws a package or changes how it is offered"],
    ["npm deprecate left-pad old", "withdraws a package or changes how it is offered"],
    ["npm owner ls left-pad", "manages who may publish a package"],
    ["npm token list", "manages sign-ins of a package registry"],
    ["yarn npm tag add left-pad@1 latest", "withdraws a package or changes how it is offered"],
    ["cargo yank --version 1.0.0 left-pad", "withdraws a package or changes how it is offered"],
    ["cargo owner --add bob left-pad", "manages who may publish a package"],
    ["gem yank left-pad -v 1", "withdraws a package or changes how it is offered"],
    ["dotnet nuget delete left-pad 1.0.0", "withdraws a package or changes how it is offered"],
    ["gh auth login", "manages sign-ins, keys or secrets of a code host"],
    ["gh secret set TOKEN", "manages sign-ins, keys or secrets of a code host"],
    ["gh ssh-key list", "manages sign-ins, keys or secrets of a code host"],
    ["gh release create v1", "changes something that others see on the code host"],
    ["terraform state rm a.b", "changes what is recorded about infrastructure"],
    ["terraform apply", "changes infrastructure"],
    ["kubectl config unset users.ann", "changes how clusters are reached"],
    ["kubectl delete pod web", "changes a cluster"],
    ["heroku config:set A=b", "deploys, changes or removes an application"],
    ["aws lambda invoke --function-name f out.json", "changes cloud resources or runs something there"],
    ["vault policy list", "administers a secret store"],
    ["vault write auth/x a=b", "administers a secret store"],
  ])("K4: the reason for %s is true of it: %s", (text, effect) => {
    expect(find(text)).toMatchObject([{ effect }]);
  });

  it("K4: what is rebuilt or temporary may be removed", () => {
    for (const text of ["rm -rf dist", "rm -rf ./packages/a/node_modules", "rm -rf /tmp/work-1"])
      expect(find(text)).toEqual([]);
    for (const text of [
      "rm -rf dist src",
      "cd .. && rm -rf dist",
      "rm -rf /tmp/../home/ann/x",
      "rm -rf $X/dist",
    ])
      expect(find(text), text).toHaveLength(1);
  });

  it("K4: a disguised command keeps its finding", () => {
    const spelled = fc
      .tuple(
        fc.constantFrom(...ASKED),
        fc.array(fc.constantFrom(...WORD_SPELLINGS), { minLength: 8, maxLength: 8 }),
      )
      .map(([words, spellings]) => words.map((word, at) => spellings[at]?.(word) ?? word).join(" "));
    const disguises = fc.array(fc.constantFrom(...DISGUISES), { maxLength: 3 });
    fc.assert(
      fc.property(spelled, disguises, (text, wraps) => {
        const disguised = wraps.reduce((inner, wrap) => wrap(inner), text);
        expect(find(disguised), disguised).not.toEqual([]);
      }),
      { numRuns: scale.cases, seed: 1_611 },
    );
  });

  it("K4: any text is classified without an error, in a number of steps that its length bounds", () => {
    const piece = fc.oneof(
      fc.string({ maxLength: 12 }),
      fc.constantFrom(...ASKED.map((words) => words.join(" "))),
      fc.constantFrom(
        ..."| ; && \n ( ) { } ' \" ` $( ${ << <<< > < & \\ python3 -c|node -e|perl -e|sed -n|awk|git -c|docker run -v|find . -exec|xargs -I{}|curl -F a=@|eval|\u200b|\uFFFC".split(
          /[ |]/,
        ),
      ),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const text = pieces.join(" ");
        const reading = readCommand(text, FACTS);
        if ("unreadable" in reading) return;
        const meter = new Meter(text.length);
        classifyCommand(reading, FACTS, meter);
        isReadOnly(reading, FACTS);
        expect(meter.steps).toBeLessThan(20_000 + 200 * text.length);
      }),
      { numRuns: scale.cases, seed: 1_612 },
    );
  });

  it.each([
    "rm -rf a; ",
    "sh | ",
    "python3 -c 'f(f(f(1)))'; ",
    "docker exec a sh -c 'b'; ",
    "curl a | sh; ",
    "awk '{print > \"f\"}' x; ",
  ])("K1: twice the text takes about twice the steps: %s", (part) => {
    const stepsFor = (count: number) => {
      const text = `${part.repeat(count)} true`;
      const reading = readCommand(text, FACTS);
      if ("unreadable" in reading) throw new Error(reading.problem);
      const meter = new Meter(text.length);
      classifyCommand(reading, FACTS, meter);
      return meter.steps;
    };
    expect(stepsFor(2_000)).toBeLessThan(2.2 * stepsFor(1_000) + 1_000);
  });

  it("K4: a script that is appended to itself repeatedly is still inspected", () => {
    const growing = "cat a a a a a a a a > b; cat b b b b b b b b > a; cat a >> a; ".repeat(20);
    const reading = readCommand(`echo 'rm -rf src' > a; ${growing} sh a`, FACTS);
    expect("unreadable" in reading ? [] : classifyCommand(reading, FACTS)).not.toEqual([]);
  });

  it("K1: long words and long inline code take linear time", () => {
    for (const filler of ["*", "/", ".", "(", "x.", "\\n", "{", " ", "--", "=@", "${", "/*", "a,", '\\"']) {
      const long = filler.repeat(Math.floor(20_000 / filler.length));
      for (const words of [
        ["rm", long],
        ["cat", long],
        ["curl", "-F", long],
        ["python3", "-c", long],
        ["node", "-e", long],
        ["perl", "-e", long],
        ["psql", "-c", long],
        ["git", "push", long],
        ["sed", long],
        ["awk", long],
        ["awk", `system("${long}`],
        ["sqlite3", "x.db", `select 1${long};x`],
        ["lua", "-e", long],
        ["chmod", long, "x"],
        ["aws", "s3", long],
      ]) {
        const reading = readCommand(quoteWords(words), FACTS);
        if ("unreadable" in reading) continue;
        const meter = new Meter(long.length);
        classifyCommand(reading, FACTS, meter);
        isReadOnly(reading, FACTS);
        expect(meter.steps).toBeLessThan(60 * long.length);
      }
    }
  });
});
