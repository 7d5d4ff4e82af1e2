import fc from "fast-check";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { addInYaml, setInYaml, unsetInYaml } from "./edit-yaml.ts";

const HAND_WRITTEN = `# My settings, do not lose this.
terminal:
    backend:   "docker"   # sandbox
    # how long
    timeout: 60

    docker_env: {A: "1"}
other_program:
  - keep   # me
model:
  default: some/model
# the end
`;

test("a value is replaced and every other byte stays", () => {
  expect(setInYaml(HAND_WRITTEN, ["terminal", "timeout"], 90)).toBe(
    HAND_WRITTEN.replace("timeout: 60", "timeout: 90"),
  );
  expect(setInYaml(HAND_WRITTEN, ["terminal", "backend"], "ssh")).toBe(
    HAND_WRITTEN.replace('"docker"', "ssh"),
  );
});

test("a new key is added at the end of its section with the section's own indentation", () => {
  expect(setInYaml(HAND_WRITTEN, ["terminal", "cwd"], "/srv")).toBe(
    HAND_WRITTEN.replace('docker_env: {A: "1"}\n', 'docker_env: {A: "1"}\n    cwd: /srv\n'),
  );
});

test("a new section is added after the last one and the comments stay", () => {
  const edited = setInYaml(HAND_WRITTEN, ["kanban", "diagnostics", "crash_threshold"], 5);
  expect(parse(edited)).toMatchObject({
    kanban: { diagnostics: { crash_threshold: 5 } },
    model: { default: "some/model" },
  });
  for (const comment of ["# My settings", "# sandbox", "# how long", "# me", "# the end"])
    expect(edited).toContain(comment);
});

test("lists and maps can be read back after writing, even when they replace a block value", () => {
  const text = "terminal:\n  docker_volumes:\n    - /a:/a\n    - /b:/b\n  timeout: 5\n";
  const edited = setInYaml(text, ["terminal", "docker_volumes"], ["/c:/c: ro"]);
  expect(parse(edited)).toEqual({ terminal: { docker_volumes: ["/c:/c: ro"], timeout: 5 } });
});

test("a value can be set in an empty file, a file of comments and an empty section", () => {
  expect(parse(setInYaml("", ["terminal", "timeout"], 1))).toEqual({ terminal: { timeout: 1 } });
  expect(setInYaml("# only words\n", ["terminal", "timeout"], 1)).toContain("# only words");
  expect(parse(setInYaml("terminal:\nmodel:\n  default: x\n", ["terminal", "timeout"], 1))).toEqual({
    terminal: { timeout: 1 },
    model: { default: "x" },
  });
});

test("unsetting removes the line, and a section that becomes empty", () => {
  expect(unsetInYaml(HAND_WRITTEN, ["terminal", "timeout"])).toBe(
    HAND_WRITTEN.replace("    timeout: 60\n", ""),
  );
  expect(parse(unsetInYaml(HAND_WRITTEN, ["model", "default"]))).not.toHaveProperty("model");
  expect(unsetInYaml(HAND_WRITTEN, ["nothing", "there"])).toBe(HAND_WRITTEN);
});

test("setting any value at any path gives exactly the expected document, whatever the original text", () => {
  const name = fc.constantFrom("a", "b", "c d", "e:f", "1", "true");
  const leaf = fc.oneof(
    fc.string(),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(fc.string(), { maxLength: 2 }),
  );
  const document = fc.dictionary(name, fc.oneof(leaf, fc.dictionary(name, leaf, { maxKeys: 3 })), {
    maxKeys: 4,
  });
  fc.assert(
    fc.property(document, name, name, leaf, fc.boolean(), (before, section, key, value, flow) => {
      const text = flow ? JSON.stringify(before) : JSON.stringify(before, undefined, 2);
      const old = before[section];
      const inner = typeof old === "object" && old !== null && !Array.isArray(old) ? old : {};
      expect(parse(setInYaml(text, [section, key], value))).toEqual({
        ...before,
        [section]: { ...inner, [key]: value },
      });
    }),
  );
});

test("an item is added to a list without changing its comments, in every style of list", () => {
  const add = (text: string) => addInYaml(text, ["approvals", "allow"], "b: *");
  expect(add("approvals:\n  allow:\n    # why\n    - a # first\n  mode: off\n")).toBe(
    "approvals:\n  allow:\n    # why\n    - a # first\n    - 'b: *'\n  mode: off\n".replaceAll("'", '"'),
  );
  expect(add("approvals:\n  allow:\n  - a")).toBe('approvals:\n  allow:\n  - a\n  - "b: *"\n');
  for (const text of [
    "",
    "approvals:\n",
    "approvals: {allow: []} # why\n",
    "approvals:\n  allow: [] # why\n",
  ]) {
    expect(parse(add(text))).toEqual({ approvals: { allow: ["b: *"] } });
    expect(add(text).includes("# why")).toBe(text.includes("# why"));
    expect(add(add(text))).toBe(add(text));
  }
});
