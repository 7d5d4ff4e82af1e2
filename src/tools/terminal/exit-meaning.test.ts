import { expect, it } from "vitest";
import { findExitMeaning } from "./exit-meaning.ts";

it.each([
  ["grep x f", 1, "no matches"],
  ["cat f | rg x", 1, "no matches"],
  ["cd a && LC_ALL=C /bin/egrep x f", 1, "no matches"],
  ["diff a b", 1, "differ"],
  ["find / -name x", 1, "partial"],
  ["test -f x", 1, "false"],
  ["[ -f x ]", 1, "false"],
  ["git diff --exit-code", 1, "differ"],
  ["git grep x", 1, "no matches"],
  ["grep -q x f && echo yes", 1, "no matches"],
  ["timeout 5 grep -r x .", 1, "no matches"],
  ["which cargo", 1, "not found"],
  ["command -v cargo", 1, "not found"],
  ["systemctl is-active sshd", 3, "not running"],
])("D1: %j with exit code %i is an answer, not a failure", (command, code, words) => {
  expect(findExitMeaning(command, code)).toEqual({ words: expect.stringContaining(words), isAnswer: true });
});

it.each([
  ["git push", 1, "normal"],
  ["curl http://nowhere", 6, "host not found"],
  ["curl http://127.0.0.1:1", 7, "refused"],
  ["curl -f http://x", 22, "error"],
  ["curl -m 1 http://x", 28, "timed out"],
  ["no-such-program", 127, "not found"],
  ["sleep 9", 137, "SIGKILL"],
  ["sleep 9", 143, "SIGTERM"],
])("D1: %j with exit code %i is explained", (command, code, words) => {
  expect(findExitMeaning(command, code)).toEqual({ words: expect.stringContaining(words), isAnswer: false });
});

it.each([
  ["grep x f", 0],
  ["grep x f", 2],
  ["grep x f; make", 1],
  ["make", 1],
])("D1: %j with exit code %i needs no explanation", (command, code) => {
  expect(findExitMeaning(command, code)).toBeUndefined();
});
