import { expect, test } from "vitest";
import { configKeys, requireKey, suggestKey } from "./config-keys.ts";
import { loadSections, schemaAt } from "./schema.ts";

const keys = configKeys();

test("every key has a description, a variable and a default that its own schema accepts", async () => {
  const sections = await loadSections();
  for (const key of keys) {
    expect(key.description, key.key).not.toBe("");
    expect(key.description, key.key).not.toMatch(/\.$/);
    expect(schemaAt(sections, key.path).safeParse(key.default).success, key.key).toBe(true);
  }
});

test("no two keys share a variable", () => {
  const variables = keys.flatMap((key) => key.env);
  expect(new Set(variables).size).toBe(variables.length);
});

test("terminal keys have the variables TERMINAL_*, the backend TERMINAL_ENV, other keys HERMES_*", () => {
  const variable = (name: string) => requireKey(name, keys).key.env[0];
  expect(variable("terminal.docker_image")).toBe("TERMINAL_DOCKER_IMAGE");
  expect(variable("terminal.backend")).toBe("TERMINAL_ENV");
  expect(variable("terminal.docker_binary")).toBe("HERMES_DOCKER_BINARY");
  expect(variable("kanban.claim_ttl_seconds")).toBe("HERMES_KANBAN_CLAIM_TTL_SECONDS");
  expect(variable("kanban.diagnostics.crash_threshold")).toBe("HERMES_KANBAN_DIAGNOSTICS_CRASH_THRESHOLD");
});

test("a misspelled key gets the intended key as suggestion", () => {
  expect(suggestKey("terminal.timout", keys)).toBe("terminal.timeout");
  expect(suggestKey("terminal.docker_imgae", keys)).toBe("terminal.docker_image");
  expect(suggestKey("kanban.failure_limits", keys)).toBe("kanban.failure_limit");
  expect(suggestKey("docker_image", keys)).toBe("terminal.docker_image");
  expect(suggestKey("zzz.qqq", keys)).toBeUndefined();
});

test("a path inside a map is accepted as a key, a section is not", () => {
  expect(requireKey("providers.local.base_url", keys).inside).toEqual(["local", "base_url"]);
  expect(() => requireKey("terminal", keys)).toThrow(/section/);
  expect(() => requireKey("terminal.nope", keys)).toThrow(/no setting/);
});
