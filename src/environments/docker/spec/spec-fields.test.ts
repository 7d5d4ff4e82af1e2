import { describe, expect, it } from "vitest";
import {
  type ComparableSpec,
  findDrift,
  fingerprintOf,
  type SpecFields,
  serialiseFields,
} from "./spec-fields.ts";

function containerOf(fields: SpecFields, variables: readonly string[] = []) {
  return {
    labels: { "hermes-spec": fingerprintOf(fields), "hermes-spec-json": serialiseFields(fields) },
    variables,
  };
}

function specOf(fields: SpecFields, changes: Partial<ComparableSpec> = {}): ComparableSpec {
  return { fields, fingerprint: fingerprintOf(fields), environment: {}, extraArguments: [], ...changes };
}

describe("findDrift", () => {
  it("C16: finds none between equal fields in another order", () => {
    expect(findDrift(containerOf({ a: 1, b: ["x"] }), specOf({ b: ["x"], a: 1 }))).toEqual([]);
  });

  it("C16: names each field that differs, with both values", () => {
    const drift = findDrift(containerOf({ a: 1, b: ["x", "y"], c: true }), specOf({ a: 2, b: [], c: true }));
    expect(drift).toEqual([
      { field: "a", had: "1", wants: "2" },
      { field: "b", had: "x, y", wants: "none" },
    ]);
  });

  it("C16: of two lists, names the entries that differ; if only their order differs, all of them", () => {
    const has = containerOf({ mounts: ["a", "b", "c"], extra: ["x", "y"] });
    expect(findDrift(has, specOf({ mounts: ["a", "b", "d"], extra: ["y", "x"] }))).toEqual([
      { field: "extra", had: "x, y", wants: "y, x" },
      { field: "mounts", had: "c", wants: "d" },
    ]);
    expect(findDrift(has, specOf({ mounts: ["a", "b", "c", "d"], extra: ["x"] }))).toEqual([
      { field: "extra", had: "y", wants: "none of these" },
      { field: "mounts", had: "none of these", wants: "d" },
    ]);
  });

  it("C16: ignores a field that only another version of the program has", () => {
    expect(findDrift(containerOf({ a: 1, old: 1 }), specOf({ a: 1, new: 2 }))).toEqual([]);
  });

  it.each(["", "{", "null", "7"])("C16: reports fields that cannot be parsed (%j) as drift", (text) => {
    const labels = { "hermes-spec": "x", "hermes-spec-json": text };
    expect(findDrift({ labels, variables: [] }, specOf({ a: 1 }))).toMatchObject([{ field: "spec" }]);
  });

  it("C16: compares values of variables with those of the container, unless extra arguments set them", () => {
    const container = containerOf({}, ["A=1=2", "B=", "PATH=/bin"]);
    const environment = { A: "1=2", B: "", C: "new" };
    expect(findDrift(container, specOf({}, { environment }))).toEqual([]);
    const changed = { environment: { A: "other" } };
    expect(findDrift(container, specOf({}, changed))).toMatchObject([{ field: "docker_env.A" }]);
    expect(findDrift(container, specOf({}, { ...changed, extraArguments: ["-e", "A=1=2"] }))).toEqual([]);
  });
});
