import { expect, it } from "vitest";
import { adviseForeground } from "./advise-foreground.ts";

it.each([
  "nohup ./server",
  "  setsid sleep 9",
  "cd x && nohup make",
  "A=1 nohup make",
  "sleep 9 &",
  "sleep 9&",
  "sleep 9 & echo on",
  "sleep 9 & wait; sleep 9 &",
  "make > log 2>&1 &",
  "(sleep 9 &)",
  "true\nsleep 9 &\ntrue",
])("D1: %j is refused with a hint to use background", (command) => {
  expect(adviseForeground(command).refusal).toContain("background: true");
});

it.each([
  "make && make install",
  "sleep 1 & wait",
  "for i in 1 2; do sleep $i & done; wait; echo done",
  "(sleep 1 & sleep 2 & wait)",
  "server & pid=$!; sleep 1; kill $pid; wait $pid",
  "make 2>&1 | tail",
  "make &> log",
  "make |& tail",
  "exec 3<&0",
  "echo 'a & b'",
  'git commit -m "this & that &"',
  "echo `a &`",
  "curl http://127.0.0.1/?a=1&b=2",
  "sed s/a/\\&/ f",
  "nohup --help",
  "ls # & later",
  "cat > a.html <<'EOF'\n<p>it's & more &</p>\nnohup\nEOF",
  "cat <<EOF > x\nwait &\nEOF\necho done",
  "grep nohup log",
  "echo disowned",
])("D1: %j runs", (command) => {
  expect(adviseForeground(command)).toEqual({ refusal: undefined, hint: undefined });
});

it.each([
  "git commit",
  "cd g && git add -A && git commit -a",
  "git -C g commit --amend -s",
  "git commit -- a.txt; echo done",
  "git rebase -i HEAD~2",
  "git rebase --continue",
  "git cherry-pick --continue",
  "GIT_AUTHOR_NAME=a git commit",
  "vim f.txt",
  "vi",
  "nano 'my file'",
  "crontab -e",
])("D1: %j is refused, because it would wait for an editor", (command) => {
  expect(adviseForeground(command).refusal).toContain("waits in an editor");
});

it.each([
  "git commit -m 'x'",
  "git commit -am x",
  "git commit -qF message.txt",
  "git commit -F - <<'EOF'\nx\nEOF",
  "git commit --amend --no-edit",
  "git commit --message=x",
  "git commit --fixup HEAD~1",
  "git commit -C HEAD",
  "git commit --dry-run",
  "git commit-tree x",
  "GIT_EDITOR=true git rebase --continue",
  "export EDITOR=true; git commit",
  "git -c core.editor=true commit",
  "git rebase main",
  "git log --grep commit",
  "vim -es -c '%s/a/b/' -c wq f",
  "vim +qa f",
  "echo i | vim -",
  "vim f < keys",
  "which vim",
  "crontab -l",
  "git help commit",
])("D1: %j runs without an editor", (command) => {
  expect(adviseForeground(command)).toEqual({ refusal: undefined, hint: undefined });
});

it("D1: the text after a here-document is checked", () => {
  expect(adviseForeground("cat <<EOF\nx &\nEOF\nsleep 9 &").refusal).toBeDefined();
});

it.each([
  "npm start",
  "npm run dev",
  "cd app && yarn watch",
  "PORT=1 pnpm serve",
  "bun dev",
  "docker compose up",
  "docker-compose up web",
  "next dev",
  "npx vite",
  "vite --port 1",
  "nodemon a.js",
  "uvicorn app:app",
  "gunicorn app",
  "python3 -m http.server 8000",
])("D1: %j runs with a hint, because it probably does not exit", (command) => {
  const { refusal, hint } = adviseForeground(command);
  expect(refusal).toBeUndefined();
  expect(hint).toContain("background: true");
});

it.each([
  "npm test",
  "npm run build",
  "vite build",
  "vitest run",
  "docker compose up -d",
  "npm start --help",
  "echo 'npm start'",
  "cat uvicorn.log",
])("D1: %j gets no hint", (command) => {
  expect(adviseForeground(command).hint).toBeUndefined();
});

it("checks hostile text without noticeable delay", () => {
  for (const text of [
    "<<a\n",
    "'",
    '"\\',
    "docker compose up a ",
    "A=1 ",
    "& ",
    "`",
    "git commit ",
    "git -c ",
    "vim a ",
  ]) {
    adviseForeground(text.repeat(300_000));
  }
});
