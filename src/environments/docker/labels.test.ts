import { describe, expect, it } from "vitest";
import { isOurs, sandboxLabels, sanitiseLabel } from "./labels.ts";

describe("sanitiseLabel", () => {
  it("C2: leaves safe values as they are", () => {
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

  it("C4: calls an empty value unknown", () => {
    expect(sanitiseLabel("")).toBe("unknown");
  });

  it("C5: cuts 100 characters to 63 and keeps two that differ only behind the cut apart", () => {
    const [one, two] = [sanitiseLabel(`${"x".repeat(99)}1`), sanitiseLabel(`${"x".repeat(99)}2`)];
    expect(one).toHaveLength(63);
    expect(one).not.toBe(two);
    expect(sanitiseLabel("x".repeat(63))).toBe("x".repeat(63));
  });

  it("C5: keeps two that become the same text apart", () => {
    expect(sanitiseLabel("a/b")).not.toBe(sanitiseLabel("a:b"));
  });
});

describe("sandboxLabels", () => {
  const sandbox = { profile: "", profileId: "p1", task: "t", fingerprint: "f", fields: "{}" };

  it("C7: a profile without a name is called default", () => {
    expect(sandboxLabels(sandbox, "c")["hermes-profile"]).toBe("default");
  });

  it("makes labels by which we know our own, and only those", () => {
    const labels = sandboxLabels(sandbox, "c");
    expect(isOurs(labels)).toBe(true);
    for (const name of ["hermes-agent", "hermes-impl", "hermes-profile-id"]) {
      expect(isOurs({ ...labels, [name]: "" })).toBe(false);
    }
    expect(isOurs({ "hermes-agent": "1", "hermes-task-id": "t", "hermes-profile": "default" })).toBe(false);
  });
});
