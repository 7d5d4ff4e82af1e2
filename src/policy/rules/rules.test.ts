import { expect, test } from "vitest";
import { approvalsOptions } from "../options.ts";
import { readCommand } from "../shell-reader/read-command.ts";
import { findAllowOrAskRule, findDenyRule } from "./find-rule.ts";
import { matchesRule, type RuleSubject, spellCommand } from "./match-rule.ts";
import { parseRule, type Rule, type RuleEffect } from "./rule.ts";
import { matchesPath, matchesWildcard } from "./wildcard.ts";

const TOOLS = new Set(["terminal", "read_file", "write_file", "patch", "todo"]);
const HOME = "/home/ann";
const CWD = "/home/ann/project";

function subject(command: string, more: Partial<RuleSubject> = {}): RuleSubject {
  const reading = readCommand(command, { home: HOME });
  if ("unreadable" in reading) throw new Error(reading.problem);
  return {
    tool: "terminal",
    commands: [{ text: command, reading, spellings: spellCommand(command, [reading]) }],
    classes: [],
    reads: [],
    writes: [],
    hosts: [],
    used: { reads: [], writes: [], hosts: [] },
    home: HOME,
    cwd: CWD,
    workspace: CWD,
    ...more,
  };
}

function file(tool: string, access: "reads" | "writes", path: string): RuleSubject {
  return { ...subject("true"), commands: [], tool, [access]: [path] };
}

function rule(text: string, effect: RuleEffect, layer: Rule["layer"] = "user"): Rule {
  const parsed = parseRule(text, effect, layer, TOOLS);
  if (typeof parsed === "string") throw new Error(parsed);
  return parsed;
}

test.each([
  ["git push *", "git push origin main"],
  ["git push *", "cd sub && git push origin main"],
  ["git push*", "/usr/bin/git push"],
  ["terminal(npm run *)", "npm run build 2>/dev/null"],
  ["make > build.log", "make > build.log"],
  ["git push *", "git push"],
  ["git  push *", "git   push origin"],
  ["in(/home/ann/project): rm -rf build", "rm -rf build"],
  ["npm run *", "NODE_ENV=test npm run build"],
  ["git -c a.b=c push", "git -c a.b=c push"],
])("the allow rule %s covers %s", (text, command) => {
  expect(matchesRule(rule(text, "allow"), subject(command))).toBe(true);
});

test.each([
  ["git *", "git log; rm -rf x"],
  ["git *", "git log $(rm -rf x)"],
  ["git *", "git log > /home/ann/.bashrc"],
  ["git *", "sudo git log"],
  ["git *", "echo git push | sh"],
  ["npm run *", "npm run build && curl x | sh"],
  ["git *", "git -c alias.x='!sh run' x"],
  ["git *", "GIT_SSH_COMMAND='sh run' git fetch"],
  ["git *", "PATH=/tmp/x git fetch"],
  ["git *", "export PATH=/tmp/x; git fetch"],
  ["npm *", "npm exec -c 'sh run'"],
  ["in(/home/ann/other): rm -rf build", "rm -rf build"],
  ["rm *.log", "rm -rf /home/ann/x.log /home/ann/y"],
])("the allow rule %s does not cover %s, because the text does more", (text, command) => {
  expect(matchesRule(rule(text, "allow"), subject(command))).toBe(false);
});

test.each([
  ["git push*", "true && git push"],
  ["GIT PUSH*", "git push"],
  ["terraform destroy*", "sh -c 'terraform destroy -auto-approve'"],
  ["curl *", "echo $(curl -s x)"],
  ["*secret*", "cat secret.txt"],
  ["git push *", "git push"],
  ["git push *", "git -C x push"],
  ["git push *", "git --no-pager push origin"],
  ["git push *", "git -c a=b push origin"],
  ["terraform destroy*", "terraform -chdir=x destroy"],
  ["kubectl delete *", "kubectl -n prod delete pod a"],
  ["git   push", "git push"],
])("the deny rule %s matches %s, wherever the command stands in the text", (text, command) => {
  expect(matchesRule(rule(text, "deny"), subject(command))).toBe(true);
});

test("path rules are relative to the workspace or the home, and apply to one tool, to reads or to writes", () => {
  const allows = (text: string, one: RuleSubject) => matchesRule(rule(text, "allow"), one);
  expect(allows("write(src/**)", file("patch", "writes", `${CWD}/src/a/b.ts`))).toBe(true);
  expect(allows("write(src/**)", file("patch", "writes", `${CWD}/src/../.env`))).toBe(false);
  expect(allows("write_file(src/*)", file("patch", "writes", `${CWD}/src/a.ts`))).toBe(false);
  expect(allows("write(~/notes/*.md)", file("write_file", "writes", `${HOME}/notes/a.md`))).toBe(true);
  expect(allows("read(**/*.pem)", file("read_file", "reads", "/etc/ssl/a.pem"))).toBe(true);
  expect(allows("read(**)", file("write_file", "writes", "/etc/ssl/a.pem"))).toBe(false);
});

test("a host pattern covers the domain and its subdomains, and no similar name", () => {
  const to = (host: string) => ({ ...subject("true"), commands: [], tool: "web", hosts: [host] });
  expect(matchesRule(rule("host(*.example.com)", "allow"), to("api.example.com"))).toBe(true);
  expect(matchesRule(rule("host(*.example.com)", "allow"), to("example.com"))).toBe(true);
  expect(matchesRule(rule("host(*.example.com)", "allow"), to("badexample.com"))).toBe(false);
});

test("M3: deny wins in every layer, then the strongest layer decides, and in one layer ask wins over allow", () => {
  const push = subject("git push origin main");
  const rules = [
    rule("git push *", "allow", "user"),
    rule("git *", "ask", "project"),
    rule("git push *", "deny", "session"),
  ];
  expect(findDenyRule(rules, push)).toMatchObject({ layer: "session" });
  expect(findAllowOrAskRule(rules, push)).toMatchObject({ effect: "allow", layer: "user" });
  expect(findAllowOrAskRule([...rules, rule("git push*", "ask", "managed")], push)).toMatchObject({
    layer: "managed",
  });
  const asked = [...rules, rule("git push*", "ask", "user")];
  expect(findAllowOrAskRule(asked, push)).toMatchObject({ effect: "ask" });
  // What an answer "always" adds.
  const always = [...asked, rule("git push origin main", "allow", "user")];
  expect(findAllowOrAskRule(always, push)).toMatchObject({ effect: "allow", text: "git push origin main" });
  expect(findAllowOrAskRule(always, subject("cd x && git push origin main"))).toMatchObject({
    effect: "ask",
  });
});

test("a rule that could never match is refused in the settings", () => {
  const problem = (deny: string) => approvalsOptions.safeParse({ deny: [deny] }).error?.issues[0]?.message;
  expect(problem("foo(bar)")).toContain('the rule "foo(bar)" names a tool');
  expect(problem("class:nosuch")).toContain("unknown class");
  expect(problem("write(a")).toContain("not closed");
  for (const text of ["git push *", "todo(*)", "write(docs/**)", "python3 -c 'print(1)'"])
    expect(problem(text), text).toBeUndefined();
});

test("a wrong rule is described", () => {
  expect(parseRule("", "deny", "user", TOOLS)).toBe("is empty");
  expect(parseRule("nosuch(x)", "deny", "user", TOOLS)).toContain('unknown tool "nosuch"');
  expect(parseRule("class:publish+deplyo", "deny", "user", TOOLS)).toContain('unknown class "deplyo"');
  expect(parseRule("todo(x)", "deny", "user", TOOLS)).toContain("takes no pattern");
  expect(parseRule("write( )", "deny", "user", TOOLS)).toContain("no pattern");
  expect(parseRule("write(docs/**", "deny", "user", TOOLS)).toContain("not closed");
  expect(parseRule("read(a) b", "deny", "user", TOOLS)).toContain("text after");
  expect(parseRule("Write(a)", "deny", "user", TOOLS)).toContain('unknown tool "Write"');
  expect(parseRule("Class:publish", "deny", "user", TOOLS)).toContain('"class:"');
  expect(parseRule("host(https://example.com)", "deny", "user", TOOLS)).toContain("without a scheme");
  expect(parseRule("in(x): rm a", "deny", "user", TOOLS)).toContain("in(/FOLDER)");
  expect(parseRule("foo(bar)", "deny", "user", undefined)).toContain('"foo"');
});

test("wildcards match as a shell user expects, in linear time", () => {
  expect(matchesWildcard("abc", "a*c")).toBe(true);
  expect(matchesWildcard("ac", "a*c*c")).toBe(false);
  expect(matchesWildcard("", "*")).toBe(true);
  expect(matchesWildcard("a".repeat(1_000_000), `${"a*".repeat(200)}b`)).toBe(false);
  expect(matchesPath("/a/b/c", "/a/**")).toBe(true);
  expect(matchesPath("/a/b/c", "/a/*")).toBe(false);
  expect(matchesPath("/a", "/a/**")).toBe(true);
  expect(matchesPath(`/${"a/".repeat(2_000)}`, `${"**/a/".repeat(100)}b`)).toBe(false);
});
