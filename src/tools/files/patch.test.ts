import { afterAll, beforeAll, expect, it } from "vitest";
import {
  openLocalTestEnvironment,
  openToolLab,
  type TestEnvironment,
} from "../../../test/support/tool-lab.ts";

let testEnvironment: TestEnvironment;
beforeAll(async () => {
  testEnvironment = await openLocalTestEnvironment();
});
afterAll(() => testEnvironment[Symbol.asyncDispose]());

const lab = (setUp: string) => openToolLab(testEnvironment, { setUp });

it("E4, M5: replace changes one occurrence, names the file and shows the diff", async () => {
  await using own = await lab("seq 1 9 > a.txt");
  const { failed, text } = await own.call("patch", { path: "a.txt", old_string: "5", new_string: "five" });
  expect(failed).toBe(false);
  expect(text).toMatch(new RegExp(`^changed ${own.folder}/a.txt\n`));
  expect(text).toContain("-5\n+five\n");
  expect(await own.sh("sed -n 5p a.txt")).toBe("five\n");
});

it("E4: a text that occurs more than once is refused with its lines, and replaced everywhere on request", async () => {
  await using own = await lab("printf '%s\\n' x y x > a.txt");
  const change = { path: "a.txt", old_string: "x", new_string: "z" };
  const refused = await own.call("patch", change);
  expect(refused).toMatchObject({ failed: true, text: expect.stringContaining("2 times") });
  expect(refused.text).toContain("lines 1, 3");
  expect(await own.call("patch", { ...change, replace_all: true })).toMatchObject({ failed: false });
  expect(await own.sh("cat a.txt")).toBe("z\ny\nz\n");
});

it("E4: for a missing text the closest match is shown, and nothing is changed", async () => {
  await using own = await lab("printf '%s\\n' 'function add(a, b) {' '  return a + b;' '}' > a.js");
  const { failed, text } = await own.call("patch", {
    path: "a.js",
    old_string: "function add(a, c) {\n  return a + c;\n}",
    new_string: "",
  });
  expect(failed).toBe(true);
  expect(text).toContain("Read the file again");
  expect(text).toContain("line 1");
  expect(text).toContain("return a + b");
  expect(await own.sh("wc -l < a.js")).toMatch("3");
});

it("E4: one patch changes, adds, moves and deletes, and names each file by its absolute path", async () => {
  await using own = await lab("echo one > a.txt; echo two > b.txt; echo three > c.txt");
  const patch = [
    "*** Begin Patch",
    "*** Update File: a.txt",
    "@@",
    "-one",
    "+eins",
    "*** Add File: sub/new.txt",
    "+fresh",
    "*** Delete File: b.txt",
    "*** Update File: c.txt",
    "*** Move to: d.txt",
    "@@",
    "-three",
    "+drei",
    "*** End Patch",
  ].join("\n");
  const { failed, text } = await own.call("patch", { mode: "patch", patch });
  expect(failed, text).toBe(false);
  expect(text).toContain(`changed ${own.folder}/a.txt`);
  expect(text).toContain(`created ${own.folder}/sub/new.txt`);
  expect(text).toContain(`deleted ${own.folder}/b.txt`);
  expect(text).toContain(`to ${own.folder}/d.txt`);
  expect(await own.sh("cat a.txt sub/new.txt d.txt; ls")).toBe("eins\nfresh\ndrei\na.txt\nd.txt\nsub\n");
});

it("E4: a patch of which one part does not apply changes nothing", async () => {
  await using own = await lab("echo one > a.txt; echo two > b.txt");
  const patch =
    "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+eins\n--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-nine\n+neun\n";
  const { failed, text } = await own.call("patch", { mode: "patch", patch });
  expect(failed).toBe(true);
  expect(text).toContain("b.txt");
  expect(text).toContain("Nothing was changed");
  expect(await own.sh("cat a.txt b.txt")).toBe("one\ntwo\n");
});

it("E4: a malformed patch is refused with its line", async () => {
  await using own = await lab("true");
  const { failed, text } = await own.call("patch", { mode: "patch", patch: "*** Begin Patch\nwhat?\n" });
  expect(failed).toBe(true);
  expect(text).toContain("line 2");
});

it("M4: redaction marks are not written, but may remain in unchanged lines", async () => {
  await using own = await lab("printf '%s\\n' 'a=«redacted:api-key»' b > a.txt");
  const marked = await own.call("patch", {
    path: "a.txt",
    old_string: "b",
    new_string: "«redacted:api-key»",
  });
  expect(marked).toMatchObject({ failed: true, text: expect.stringContaining("redaction mark") });
  const diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n a=«redacted:api-key»\n-b\n+c\n";
  expect(await own.call("patch", { mode: "patch", patch: diff })).toMatchObject({ failed: false });
  const bad = diff.replace("+c", "+c=«redacted:api-key»");
  expect(await own.call("patch", { mode: "patch", patch: bad })).toMatchObject({ failed: true });
});

it("M4: the closest match is redacted, and redaction marks in the searched text are explained", async () => {
  const key = [
    "-----BEGIN PRIVATE KEY-----",
    ...Array(9).fill("MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"),
    "-----END PRIVATE KEY-----",
  ];
  await using own = await lab(
    `printf '%s\\n' 'host: alpha.example.com' 'password: hunter2hunter2' > sec.yaml; printf '%s\\n' ${key.map((line) => `'${line}'`).join(" ")} > key.txt`,
  );
  const mark = "«redacted:secret-value»";
  const misses = [
    { path: "sec.yaml", old_string: "host: alpha.example.org\npassword: hunter", new_string: "" },
    {
      path: "sec.yaml",
      old_string: `host: alpha.example.com\npassword: ${mark}`,
      new_string: `host: b\npassword: ${mark}`,
    },
    {
      patch: `--- a/sec.yaml\n+++ b/sec.yaml\n@@ -1,2 +1,2 @@\n-host: alpha.example.com\n+host: b\n password: ${mark}\n`,
    },
    { path: "key.txt", old_string: "MIIEvQIBADANBgkqhkiG9w0BAQEFAASX", new_string: "" },
  ];
  const answers = [];
  for (const miss of misses) answers.push(await own.call("patch", miss));
  for (const { failed, text } of answers) {
    expect(failed).toBe(true);
    expect(text).not.toMatch(/hunter2|MIIE/);
  }
  const [plain, marked, patched] = answers.map(({ text }) => text);
  expect(plain).toContain(`line 1:\nhost: alpha.example.com\npassword: ${mark}`);
  expect(plain).not.toContain("not shown");
  for (const text of [marked, patched]) expect(text).toContain("a secret that you are not shown");
});

it("K5: a patch that touches credentials anywhere, or through a link, changes nothing at all", async () => {
  await using own = await lab("echo A=1 > .env; ln -s .env config.txt; echo one > a.txt");
  for (const target of [".env", "config.txt"]) {
    const patch = `--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+eins\n--- a/${target}\n+++ b/${target}\n@@ -1 +1 @@\n-A=1\n+A=2\n`;
    const { failed, text } = await own.call("patch", { mode: "patch", patch });
    expect({ failed, text }).toMatchObject({ failed: true, text: expect.stringContaining("credentials") });
    const replaced = await own.call("patch", { path: target, old_string: "1", new_string: "2" });
    expect(replaced).toMatchObject({ failed: true, text: expect.stringContaining("credentials") });
  }
  expect(await own.sh("cat .env a.txt")).toBe("A=1\none\n");
});

it("E4: a patch reports that another program changed the file after it was read", async () => {
  await using own = await lab("printf '%s\\n' one two > a.txt");
  await own.call("read_file", { path: "a.txt" });
  await own.sh("echo three >> a.txt");
  const { failed, text } = await own.call("patch", { path: "a.txt", old_string: "one", new_string: "1" });
  expect(failed).toBe(false);
  expect(text).toContain("another program");
});

it.each([
  [{ mode: "patch" }, "or the argument patch"],
  [{ mode: "replace", path: "a" }, "needs path, old_string and new_string"],
  [{ path: "a", old_string: "", new_string: "x" }, "write_file"],
])("a missing argument is named: %j", async (input, words) => {
  await using own = await lab("true");
  expect(await own.call("patch", input)).toMatchObject({
    failed: true,
    text: expect.stringContaining(words),
  });
});
