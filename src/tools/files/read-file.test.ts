import { afterAll, beforeAll, expect, it } from "vitest";
import { createPdf, createWorkbook } from "../../../test/support/documents.ts";
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

it("E2, C3: lines have numbers, and a page names the offset of the next one", async () => {
  await using own = await lab("seq 1 1200 > a.txt");
  const first = await own.call("read_file", { path: "a.txt" });
  const lines = first.text.split("\n");
  expect(lines.slice(0, 2)).toEqual(["1|1", "2|2"]);
  expect(lines).toHaveLength(501);
  expect(lines.at(-1)).toBe(`[${own.folder}/a.txt; lines 1-500 of 1200; continue with offset 501]`);
  const last = await own.call("read_file", { path: "a.txt", offset: 1199, limit: 10 });
  expect(last.text).toBe(`1199|1199\n1200|1200\n[${own.folder}/a.txt]`);
});

it("E2: a page is shown again only after it has changed", async () => {
  await using own = await lab("echo one > a.txt");
  const read = async () => (await own.call("read_file", { path: "a.txt" })).text;
  expect(await read()).toContain("1|one");
  expect(await read()).toContain("unchanged");
  expect((await own.call("read_file", { path: "a.txt", offset: 1, limit: 7 })).text).toContain("1|one");
  await own.sh("echo two > a.txt");
  expect(await read()).toContain("1|two");
});

it("E2: a page with its line numbers never exceeds the size limit of a result", async () => {
  await using own = await lab(
    "yes yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy | head -n 3000 > wide.txt",
  );
  const { text } = await own.call("read_file", { path: "wide.txt", limit: 2000 });
  expect(await own.fit(text, "read_file")).toBe(text);
  const [, next] = /continue with offset (\d+)/.exec(text) ?? [];
  const more = await own.call("read_file", { path: "wide.txt", limit: 2000, offset: Number(next) });
  expect(more.text).toMatch(new RegExp(`^${next}\\|yyy`));
});

it.each([
  ["reedme.md", "README.md", "a near name"],
  ["readme.md", "README.md", "another case"],
  ["config.yaml", "config.yml", "another ending"],
  ["cafe\u0301.txt", "caf\u00e9.txt", "another spelling of the same characters"],
])("E2: for a missing file a similar name is suggested: %s", async (asked, there) => {
  await using own = await lab(`touch '${there}'`);
  const { failed, text } = await own.call("read_file", { path: asked });
  expect(failed).toBe(true);
  expect(text).toContain(`Did you mean ${own.folder}/${there}?`);
});

it("E2: UTF-16 is shown as text, with a note", async () => {
  await using own = await lab("printf '\\377\\376h\\000i\\000\\n\\000' > wide.txt");
  const { text } = await own.call("read_file", { path: "wide.txt" });
  expect(text).toBe(`1|hi\n[${own.folder}/wide.txt; shown from utf-16le]`);
});

it("Latin-1 is read, changed and written back as Latin-1, even if its first non-ASCII byte comes late in the file", async () => {
  await using own = await lab(
    "{ seq 1 5000; printf 'caf\\351\\n'; } > a.txt; { yes ascii | head -c 90000; printf 'caf\\351 end\\n'; } > late.txt",
  );
  for (const [path, offset] of [
    ["a.txt", 5001],
    ["late.txt", 15001],
  ] as const) {
    const { text } = await own.call("read_file", { path, offset });
    expect(text).toMatch(/café.*\n.*windows-1252/);
    const patched = await own.call("patch", { path, old_string: "café", new_string: "thé" });
    expect(patched).toMatchObject({ failed: false, text: expect.stringContaining("+thé") });
    expect(await own.sh(`tail -n 1 ${path} | od -An -c`)).toMatch(/t +h +351/);
    const other = await own.call("patch", { path, old_string: "thé", new_string: "→" });
    expect(other).toMatchObject({ failed: true, text: expect.stringContaining("Latin-1") });
  }
});

it("K6: passwords in settings are hidden in pages, matches and diffs; in translations they are shown", async () => {
  const secret = "tr0ub4dor-and-3";
  await using own = await lab(
    `mkdir locales; for f in app.yaml .env.sample app.ini settings.json; do echo 'password: ${secret}' > $f; done
     echo 'password: Passwort' > locales/de.yml`,
  );
  const read = async (path: string) => (await own.call("read_file", { path })).text;
  for (const path of ["app.yaml", "app.ini", "settings.json"])
    expect(await read(path)).toMatch(/^1\|password: «redacted/);
  expect(await read("locales/de.yml")).toContain("Passwort");
  const found = await own.call("search_files", { pattern: "password", file_glob: "*.yaml" });
  expect(found.text).toContain("«redacted");
  expect(found.text).not.toContain(secret);
  const { text, display = "" } = await own.call("patch", {
    patch: "*** Begin Patch\n*** Update File: app.yaml\n@@\n+user: me\n*** End of File\n*** End Patch",
  });
  expect(text).toContain("+user: me");
  expect(text + display).not.toContain(secret);
});

it("E2: a binary or empty file, an offset past the end, a folder, a device and a FIFO are told apart without blocking", async () => {
  await using own = await lab(
    "printf '\\211PNG\\r\\n\\032\\n\\000\\001' > a.png; : > empty; echo 1 > one; mkfifo pipe",
  );
  const read = (path: string, offset = 1) => own.call("read_file", { path, offset });
  expect(await read("a.png")).toMatchObject({ failed: true, text: expect.stringContaining("PNG image") });
  expect(await read("empty")).toMatchObject({ failed: false, text: `[${own.folder}/empty is empty.]` });
  expect((await read("one", 5)).text).toBe(`[${own.folder}/one has 1 lines; line 5 is past its end.]`);
  for (const path of ["pipe", "/dev/zero"]) {
    const { failed, text } = await read(path);
    expect(failed).toBe(true);
    expect(text).toContain("FIFO, socket or device");
  }
  expect((await read(".")).text).toContain("is a folder");
});

it("E2: a page of a large file comes with the advice to search it instead", async () => {
  await using own = await lab("seq 1 100000 > big.txt");
  expect((await own.call("read_file", { path: "big.txt", limit: 1 })).text).toContain("a large file");
});

it("E2: a lost environment is reported as unavailable, not as a missing file", async () => {
  await using own = await openToolLab(testEnvironment, {
    intercept: async (request, run) => ({ ...(await run({ ...request, command: "true" })), ended: "lost" }),
  });
  const { failed, text } = await own.call("read_file", { path: "a.txt" });
  expect(failed).toBe(true);
  expect(text).toContain("environment was lost");
  expect(text).not.toContain("does not exist");
});

it.each([".env", ".env.production", ".ssh/id_rsa", ".aws/credentials", ".kube/config", ".netrc", ".envrc"])(
  "K5: %s is not shown, not even through a link",
  async (path) => {
    await using own = await lab(
      `mkdir -p .ssh .aws .kube; echo content-of-it > '${path}'; ln -s '${path}' harmless`,
    );
    for (const asked of [path, "harmless"]) {
      const { failed, text } = await own.call("read_file", { path: asked });
      expect(failed).toBe(true);
      expect(text).toContain("credentials");
      expect(text).not.toContain("content-of-it");
    }
  },
);

it("K5: an example env file is shown, and so are files whose names only resemble credentials", async () => {
  await using own = await lab("echo A= > .env.example; mkdir ssh; echo ok > ssh/id; echo x > env.ts");
  for (const path of [".env.example", "ssh/id", "env.ts"])
    expect(await own.call("read_file", { path })).toMatchObject({ failed: false });
});

it("K5: the profile's own tokens are not shown", async () => {
  await using own = await openToolLab(testEnvironment, { home: `${testEnvironment.folder}/own-home` });
  await own.sh(
    `mkdir -p '${testEnvironment.folder}/own-home/mcp-tokens'; echo t0ken > '${testEnvironment.folder}/own-home/mcp-tokens/a'`,
  );
  const { text } = await own.call("read_file", { path: `${testEnvironment.folder}/own-home/mcp-tokens/a` });
  expect(text).not.toContain("t0ken");
});

it.each(
  ".bashrc .npmrc Dockerfile Makefile a.cnf a.log a.md a.sh a.sql a.tf a.txt a.xml a.csv noext a.env.bak a.yaml".split(
    " ",
  ),
)("K6: a password in %s is hidden in pages and matches", async (name) => {
  await using own = await lab(
    `echo 'DB_PASSWORD=hunter2hunter2' > ${name}; echo 'MAX_TOKENS=100' >> ${name}`,
  );
  const { text } = await own.call("read_file", { path: name });
  expect(text).toContain("1|DB_PASSWORD=«redacted:secret-value»\n2|MAX_TOKENS=100");
  const found = await own.call("search_files", { pattern: "PASSWORD", path: name });
  expect(found.text).toContain(":1:DB_PASSWORD=«redacted:secret-value»");
});

it.each([
  ["settings.py", 'DB_PASSWORD = "hunter2hunter2"'],
  ["a.ts", 'const config = { password: "hunter2hunter2" };'],
  ["a.go", 'apiKey := "hunter2hunter2"'],
  ["a.rb", "secret = 'hunter2hunter2'"],
  ["A.java", 'String accessToken = "hunter2hunter2";'],
])("K6: a literal password in code is hidden: %s", async (name, line) => {
  await using own = await lab(`cat > ${name} <<'EOF'\n${line}\nEOF`);
  for (const [tool, input] of [
    ["read_file", { path: name }],
    ["search_files", { pattern: ".", path: name }],
  ] as const) {
    const { text } = await own.call(tool, input);
    expect(text).toContain("«redacted:secret-value»");
    expect(text).not.toContain("hunter2");
  }
});

it("K6, M4: a page inside a private key and matches in it are masked", async () => {
  await using own = await lab(
    `{ echo before; echo '-----BEGIN RSA PRIVATE KEY-----'; for i in $(seq 10 35); do echo "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cK$i"; done; echo 'Xy9zZg=='; echo '-----END RSA PRIVATE KEY-----'; echo after; } > notes.txt`,
  );
  for (const [offset, limit] of [
    [1, 5],
    [5, 3],
    [10, 500],
    [29, 1],
  ]) {
    const { text } = await own.call("read_file", { path: "notes.txt", offset, limit });
    expect(text).not.toMatch(/MIIEvQ|Xy9zZg/);
    expect(text).toContain("«redacted:private-key»");
  }
  const { text: last } = await own.call("read_file", { path: "notes.txt", offset: 30, limit: 5 });
  expect(last).toContain("31|after");
  for (const query of [
    { pattern: "MIIE.*20" },
    { pattern: "Xy9" },
    { pattern: "before", context: 4 },
    { pattern: "after", context: 4 },
  ]) {
    const { text } = await own.call("search_files", { ...query, path: "." });
    expect(text).not.toMatch(/MIIEvQ|Xy9zZg/);
    expect(text).toContain("«redacted:private-key»");
  }
});

it("M4: a private key of several lines is omitted completely", async () => {
  await using own = await lab(
    "printf '%s\\n' before '-----BEGIN PRIVATE KEY-----' MIIEvQIBADANBgkqhkiG9w0BAQEFAASC '-----END PRIVATE KEY-----' after > notes.txt",
  );
  const { text } = await own.call("read_file", { path: "notes.txt" });
  expect(text).not.toContain("MIIEvQ");
  expect(text).toContain("after");
  expect(text).toContain("a secret of several lines");
});

it("C3: a PDF is read as text, in pages with the next offset, even if its bytes are plain ASCII", async () => {
  await using own = await lab(`echo '${createPdf(3).toString("base64")}' | base64 -d > a.pdf`);
  const first = await own.call("read_file", { path: "a.pdf", limit: 3 });
  expect(first.text).toBe(
    `1|--- page 1 of 3 ---\n2|Page 1 begins\n3|and ends\n[${own.folder}/a.pdf; text of the PDF; lines 1-3 of 11; continue with offset 4]`,
  );
  const last = await own.call("read_file", { path: "a.pdf", offset: 10 });
  expect(last.text).toBe(`10|Page 3 begins\n11|and ends\n[${own.folder}/a.pdf; text of the PDF]`);
  const past = await own.call("read_file", { path: "a.pdf", offset: 99 });
  expect(past.text).toContain("has 11 lines; line 99 is past its end");
});

it("C3: a damaged document fails with an explanation, and a damaged notebook is shown as plain text", async () => {
  const cut = createWorkbook().subarray(0, 300).toString("base64");
  await using own = await lab(`echo '${cut}' | base64 -d > a.xlsx; echo '{"cells": [' > a.ipynb`);
  const workbook = await own.call("read_file", { path: "a.xlsx" });
  expect(workbook).toMatchObject({
    failed: true,
    text: expect.stringContaining("(Excel workbook) cannot be read"),
  });
  const notebook = await own.call("read_file", { path: "a.ipynb" });
  expect(notebook).toMatchObject({ failed: false, text: expect.stringContaining('1|{"cells": [') });
});
