import { describe, expect, it } from "vitest";
import { isOurs, sandboxLabels, sanitiseLabel } from "./labels.ts";

describe("sanitiseLabel", () => {
  it("C2: keeps safe values unchanged", () => {
    expect(sanitiseLabel("plain-name_1.0")).toBe("plain-name_1.0");
  });

  it.each([
    ["with/slash", "with_slash"],
    ["with:colon", "with_colon"],
    ["👍", "_"],
    ["task/with:weird*chars", "task_with_weird_chars"],
  ])("C3, C6: turns each illegal character of %s into one underscore, and adds a digest", (value, safe) => {
    expect(sanitiseLabel(value)).toMatch(new RegExp(`^${safe}-[0-9a-f]{8}$`));
  });

  it("C4: replaces an empty value with `unknown`", () => {
    expect(sanitiseLabel("")).toBe("unknown");
  });

  it("C5: truncates 100 characters to 63, and values that differ only after that stay different", () => {
    const [one, two] = [sanitiseLabel(`${"x".repeat(99)}1`), sanitiseLabel(`${"x".repeat(99)}2`)];
    expect(one).toHaveLength(63);
    expect(one).not.toBe(two);
    expect(sanitiseLabel("x".repeat(63))).toBe("x".repeat(63));
  });

  it("C5: values that become the same text stay different", () => {
    expect(sanitiseLabel("a/b")).not.toBe(sanitiseLabel("a:b"));
  });
});

describe("sandboxLabels", () => {
  const sandbox = { profile: "", profileId: "p1", task: "t", fingerprint: "f", fields: "{}" };

  it("C7: a profile without a name gets the label default", () => {
    expect(sandboxLabels(sandbox, "c")["hermes-profile"]).toBe("default");
  });

  it("creates labels that identify our containers, and only ours", () => {
    const labels = sandboxLabels(sandbox, "c");
    expect(isOurs(labels)).toBe(true);
    for (const name of ["hermes-agent", "hermes-impl", "hermes-profile-id"]) {
      expect(isOurs({ ...labels, [name]: "" })).toBe(false);
    }
    expect(isOurs({ "hermes-agent": "1", "hermes-task-id": "t", "hermes-profile": "default" })).toBe(false);
  });
});
