import { afterAll, beforeAll, describe, expect, it } from "vitest";
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

it("E3, M5: a new file is created with its folders, and the result names its real path", async () => {
  await using own = await openToolLab(testEnvironment);
  const { failed, text, display } = await own.call("write_file", { path: "a/b/c.txt", content: "x\n" });
  expect({ failed, text }).toEqual({ failed: false, text: `created ${own.folder}/a/b/c.txt` });
  expect(display).toContain("+x");
  expect(await own.sh("cat a/b/c.txt")).toBe("x\n");
});

it("M5: after cd a relative path is resolved in the session's folder, and the result names it", async () => {
  await using own = await openToolLab(testEnvironment);
  await own.sh("mkdir other; echo old > other/f");
  await own.call("terminal", { command: "cd other" });
  const { text } = await own.call("write_file", { path: "f", content: "new\n" });
  expect(text).toBe(`changed ${own.folder}/other/f`);
  expect(await own.sh("cat other/f")).toBe("new\n");
});

it("E3: a link is followed, and the result names the changed file", async () => {
  await using own = await openToolLab(testEnvironment);
  await own.sh("echo old > real.txt; ln -s real.txt link.txt");
  expect((await own.call("write_file", { path: "link.txt", content: "new\n" })).text).toBe(
    `changed ${own.folder}/real.txt`,
  );
  expect(await own.sh("cat real.txt; test -L link.txt && echo link")).toBe("new\nlink\n");
});

it("C3, E4: a file that was changed after it was read is not overwritten, even under another path", async () => {
  await using own = await openToolLab(testEnvironment);
  await own.sh("echo one > a.txt");
  await own.call("read_file", { path: "./a.txt" });
  await own.sh("echo two > a.txt");
  const write = (content: string) => own.call("write_file", { path: "a.txt", content });
  for (const content of ["three\n", "four\n"]) {
    const { failed, text } = await write(content);
    expect(failed).toBe(true);
    expect(text).toContain(`${own.folder}/a.txt has changed since you read it`);
    expect(text).toContain("read it again");
  }
  expect(await own.sh("cat a.txt")).toBe("two\n");
  expect((await own.call("read_file", { path: "a.txt" })).text).toContain("1|two");
  expect(await write("five\n")).toMatchObject({ failed: false });
  expect(await write("six\n")).toMatchObject({ failed: false });
  await own.sh("rm a.txt");
  expect(await write("seven\n")).toMatchObject({ failed: false });
});

describe("refused before anything is written", () => {
  const refused = async (path: string, content: string, word: string | RegExp) => {
    await using own = await openToolLab(testEnvironment);
    await own.sh(`mkdir -p "$(dirname '${path}')"; printf before > '${path}'`);
    const { failed, text } = await own.call("write_file", { path, content });
    expect(failed, text).toBe(true);
    expect(text).toMatch(word);
    expect(text).toMatch(/Nothing was (written|changed)/);
    expect(await own.sh(`cat '${path}'`)).toBe("before");
  };

  it("E3: the output of read_file with its line numbers", () =>
    refused("a.txt", "12|one\n13|two\n14|three\n15|four\n", "output of read_file"));
  it("E3: the note that a page is unchanged", async () => {
    await using own = await openToolLab(testEnvironment);
    await own.sh("echo x > a.txt");
    await own.call("read_file", { path: "a.txt" });
    const { text } = await own.call("read_file", { path: "a.txt" });
    await refused("a.txt", `${text}\n`, "unchanged");
  });
  it("M4: marks that stand for secrets", () =>
    refused("a.txt", "key=«redacted:api-key»\n", "redaction mark"));
  it("E3: JSON that does not parse", () => refused("a.json", '{"a": 1,}', "JSON"));
  it("E3: YAML that does not parse", () => refused("a.yaml", "a: [1, 2\nb: {", "YAML"));
  it("E3: half a surrogate pair", () => refused("a.txt", "\ud83d", "surrogate"));
  it("K5: a credential file", () => refused(".env", "A=1\n", "credentials"));
  it("K5: an ssh key", () => refused(".ssh/authorized_keys", "x\n", "credentials"));
});

it("M4: a file with a literal mark can be rewritten, but no secret in it is replaced by a mark", async () => {
  await using own = await openToolLab(testEnvironment);
  const mark = "«redacted:secret-value»";
  const write = (content: string) => own.call("write_file", { path: "a.conf", content });
  await own.sh(`printf 'text: ${mark}\\nhost: a\\n' > a.conf`);
  expect(await write(`text: now ${mark}\nhost: b\n`)).toMatchObject({ failed: false });
  await own.sh(`printf 'password: ${mark}\\npassword: hunter2hunter2\\nhost: a\\n' > a.conf`);
  await own.call("read_file", { path: "a.conf" });
  expect(await write(`password: ${mark}\npassword: ${mark}\nhost: b\n`)).toMatchObject({
    failed: true,
    text: expect.stringContaining("use patch for the other lines"),
  });
  expect(await write(`password: ${mark}\nhost: b\n`)).toMatchObject({ failed: false });
  expect(await own.sh("cat a.conf")).toBe(`password: ${mark}\nhost: b\n`);
});

it("M4: a diff reports the change of a redacted value", async () => {
  await using own = await openToolLab(testEnvironment);
  await own.sh("printf 'password: hunter2hunter2\\n' > a.yaml");
  const { display } = await own.call("write_file", { path: "a.yaml", content: "password: hunter3hunter3\n" });
  expect(display).not.toContain("hunter3");
  expect(display).toContain("only as a redaction mark was changed");
});

it.each([
  ["tsconfig.json", '{ "a": 1, }'],
  ["settings.json", '// why\n{ "a": 1 }'],
  ["chart/templates/a.yaml", "{{- if .Values.a }}\na: 1\n{{- end }}"],
  ["stack.yaml", "a: !Ref Thing\n"],
  ["table.txt", "1|one\n7|seven\n3|three\n"],
  ["empty.json", ""],
])("content that only resembles an error is written: %s", async (path, content) => {
  await using own = await openToolLab(testEnvironment);
  expect(await own.call("write_file", { path, content })).toMatchObject({ failed: false });
  expect(await own.sh(`cat '${path}'`)).toBe(content);
});

it("M4: a secret is written to disk unchanged, and is not in the result", async () => {
  await using own = await openToolLab(testEnvironment);
  const key = `sk-ant-api03-${"a1B2".repeat(20)}`;
  const { text, display } = await own.call("write_file", { path: "conf.ini", content: `${key}\n` });
  expect(await own.sh("cat conf.ini")).toBe(`${key}\n`);
  expect(`${text}${display}`).not.toContain(key);
});

it("K5: nothing is written outside of the folders of HERMES_WRITE_SAFE_ROOT, not even through a link", async () => {
  await using own = await openToolLab(testEnvironment, {
    setUp: "mkdir safe; ln -s .. safe/out; ln -s safe in",
    writeRoots: [`${testEnvironment.folder}/nowhere`],
  });
  await using safe = await openToolLab(testEnvironment, {
    setUp: "mkdir -p safe; ln -sfn .. safe/out; ln -sfn safe in",
    writeRoots: [`${own.folder}/safe`],
  });
  expect(await own.call("write_file", { path: "safe/a", content: "x" })).toMatchObject({ failed: true });
  for (const path of ["a", "safe/out/a", "safe/../a"])
    expect(
      await safe.call("write_file", { path: `${own.folder}/${path}`, content: "x" }),
      path,
    ).toMatchObject({
      failed: true,
      text: expect.stringContaining("HERMES_WRITE_SAFE_ROOT"),
    });
  for (const path of ["safe/b/c", "in/d"])
    expect(await safe.call("write_file", { path: `${own.folder}/${path}`, content: "x" })).toMatchObject({
      failed: false,
    });
  expect(await own.sh("ls; ls safe")).not.toMatch(/^a$/m);
});
