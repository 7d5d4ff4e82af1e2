import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openLocalPlace, openToolLab, type ToolPlace } from "../../../test/support/tool-lab.ts";

let place: ToolPlace;
beforeAll(async () => {
  place = await openLocalPlace();
});
afterAll(() => place[Symbol.asyncDispose]());

it("E3, M5: a new file is made with its folders, and the answer names where it really lies", async () => {
  await using own = await openToolLab(place);
  const { failed, text, display } = await own.call("write_file", { path: "a/b/c.txt", content: "x\n" });
  expect({ failed, text }).toEqual({ failed: false, text: `created ${own.folder}/a/b/c.txt` });
  expect(display).toContain("+x");
  expect(await own.sh("cat a/b/c.txt")).toBe("x\n");
});

it("M5: after cd a relative path is the session's, and the answer says which", async () => {
  await using own = await openToolLab(place);
  await own.sh("mkdir other; echo old > other/f");
  await own.call("terminal", { command: "cd other" });
  const { text } = await own.call("write_file", { path: "f", content: "new\n" });
  expect(text).toBe(`changed ${own.folder}/other/f`);
  expect(await own.sh("cat other/f")).toBe("new\n");
});

it("E3: a link is followed, and the answer names the file that was changed", async () => {
  await using own = await openToolLab(place);
  await own.sh("echo old > real.txt; ln -s real.txt link.txt");
  expect((await own.call("write_file", { path: "link.txt", content: "new\n" })).text).toBe(
    `changed ${own.folder}/real.txt`,
  );
  expect(await own.sh("cat real.txt; test -L link.txt && echo link")).toBe("new\nlink\n");
});

it("C3, E4: whoever read a file by any name is told that somebody else changed it before the write", async () => {
  await using own = await openToolLab(place);
  await own.sh("echo one > a.txt");
  await own.call("read_file", { path: "./a.txt" });
  await own.sh("echo two > a.txt");
  const stale = await own.call("write_file", { path: "a.txt", content: "three\n" });
  expect(stale.text).toContain(`${own.folder}/a.txt had been changed by somebody else since you read it`);
  const fresh = await own.call("write_file", { path: "a.txt", content: "four\n" });
  expect(fresh.text).not.toContain("somebody else");
});

describe("what is refused before a byte is written", () => {
  const refused = async (path: string, content: string, word: string | RegExp) => {
    await using own = await openToolLab(place);
    await own.sh(`mkdir -p "$(dirname '${path}')"; printf before > '${path}'`);
    const { failed, text } = await own.call("write_file", { path, content });
    expect(failed, text).toBe(true);
    expect(text).toMatch(word);
    expect(text).toMatch(/Nothing was (written|changed)/);
    expect(await own.sh(`cat '${path}'`)).toBe("before");
  };

  it("E3: what read_file shows, its numbers included", () =>
    refused("a.txt", "12|one\n13|two\n14|three\n15|four\n", "display of read_file"));
  it("E3: the note that a page is unchanged", async () => {
    await using own = await openToolLab(place);
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
  it("K5: a file of credentials", () => refused(".env", "A=1\n", "credentials"));
  it("K5: a key of ssh", () => refused(".ssh/authorized_keys", "x\n", "credentials"));
});

it("M4: a file that holds a mark of its own can be rewritten, but no secret in it is replaced by one", async () => {
  await using own = await openToolLab(place);
  const mark = "«redacted:secret-value»";
  const write = (content: string) => own.call("write_file", { path: "a.conf", content });
  await own.sh(`printf 'text: ${mark}\\nhost: a\\n' > a.conf`);
  expect(await write(`text: now ${mark}\nhost: b\n`)).toMatchObject({ failed: false });
  await own.sh(`printf 'password: ${mark}\\npassword: hunter2hunter2\\nhost: a\\n' > a.conf`);
  expect(await write(`password: ${mark}\npassword: ${mark}\nhost: b\n`)).toMatchObject({
    failed: true,
    text: expect.stringContaining("use patch for the other lines"),
  });
  expect(await write(`password: ${mark}\nhost: b\n`)).toMatchObject({ failed: false });
  expect(await own.sh("cat a.conf")).toBe(`password: ${mark}\nhost: b\n`);
});

it("M4: a diff says that a value was changed which it does not show", async () => {
  await using own = await openToolLab(place);
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
])("what only looks wrong is written: %s", async (path, content) => {
  await using own = await openToolLab(place);
  expect(await own.call("write_file", { path, content })).toMatchObject({ failed: false });
  expect(await own.sh(`cat '${path}'`)).toBe(content);
});

it("M4: a secret goes to the disk as it is, and into no answer", async () => {
  await using own = await openToolLab(place);
  const key = `sk-ant-api03-${"a1B2".repeat(20)}`;
  const { text, display } = await own.call("write_file", { path: "conf.ini", content: `${key}\n` });
  expect(await own.sh("cat conf.ini")).toBe(`${key}\n`);
  expect(`${text}${display}`).not.toContain(key);
});
