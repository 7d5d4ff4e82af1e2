import { expect, it } from "vitest";
import { toGoogleSchema } from "./google-schema.ts";

const convert = (property: object, more: object = {}) =>
  toGoogleSchema({ type: "object", properties: { p: property }, ...more });
const holds = (property: object) => ({ type: "object", properties: { p: property } });

it.each([
  [
    "drops fields that Gemini refuses",
    { type: "string", $comment: "x", examples: ["a"] },
    { type: "string" },
  ],
  ["keeps limits", { type: "integer", minimum: 1, exclusiveMaximum: 9 }, { type: "integer", minimum: 1 }],
  ["drops unknown formats", { type: "string", format: "uri" }, { type: "string" }],
  ["keeps known formats", { type: "string", format: "date-time" }, { type: "string", format: "date-time" }],
  ["turns a constant into an enumeration", { type: "string", const: "a" }, { type: "string", enum: ["a"] }],
  ["drops enumerations of numbers", { type: "integer", enum: [1, 2] }, { type: "integer" }],
  ["marks what may be null", { type: ["string", "null"] }, { type: "string", nullable: true }],
  [
    "lists several types as alternatives",
    { type: ["string", "integer"], description: "d" },
    {
      description: "d",
      anyOf: [
        { description: "d", type: "string" },
        { description: "d", type: "integer" },
      ],
    },
  ],
  [
    "turns oneOf into anyOf, without null",
    { oneOf: [{ type: "string" }, { type: "integer" }, { type: "null" }] },
    { anyOf: [{ type: "string" }, { type: "integer" }], nullable: true },
  ],
  ["gives items to every list", { type: "array" }, { type: "array", items: { type: "string" } }],
  ["gives every schema a type", { description: "any" }, { description: "any", type: "string" }],
  [
    "requires only properties that exist",
    {
      type: "object",
      properties: { a: { type: "string" } },
      required: ["a", "b"],
      additionalProperties: false,
    },
    { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
  ],
  [
    "merges allOf",
    { allOf: [{ type: "object", properties: { a: { type: "string" } }, required: ["a"] }], description: "d" },
    { description: "d", type: "object", properties: { a: { type: "string" } }, required: ["a"] },
  ],
])("%s", (_, property, expected) => {
  expect(convert(property)).toEqual(holds(expected));
});

it("a tool without input has no schema", () => {
  expect(toGoogleSchema({ type: "object", properties: {}, additionalProperties: false })).toBeUndefined();
});

it("replaces references, and ends recursive ones", () => {
  const node = { type: "object", properties: { next: { $ref: "#/$defs/node" } } };
  const written = JSON.stringify(convert({ $ref: "#/$defs/node" }, { $defs: { node } }));
  expect(written).toContain('"next":{"type":"object"}');
  expect(written).not.toContain("$");
});
