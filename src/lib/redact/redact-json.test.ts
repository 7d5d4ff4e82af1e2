import { expect, test } from "vitest";
import { redactJson } from "./redact-json.ts";
import { createRedactor } from "./redactor.ts";

const { redact } = createRedactor({ secrets: ["hunter2hunter2", "1234567890123"] });
const known = "«redacted:known-secret»";

test("every string in a value is redacted, including keys and numbers", () => {
  const value = { a: ["x hunter2hunter2", { hunter2hunter2: 1, b: 1234567890123 }], n: 5, t: true, z: null };
  expect(redactJson(value, redact)).toEqual({
    a: [`x ${known}`, { [known]: 1, b: known }],
    n: 5,
    t: true,
    z: null,
  });
});

test("the value of a secret name is hidden completely, in a list too", () => {
  const value = {
    password: "a b",
    Cookie: ["a=b"],
    tokens: 5,
    token: "",
    auth: { apiKey: "abcd", user: "me" },
  };
  expect(redactJson({ ...value, secret: true }, redact)).toEqual({
    password: "a b", // three characters are too short for a secret
    Cookie: ["a=b"],
    tokens: 5,
    token: "",
    auth: { apiKey: "«redacted:secret-value»", user: "me" },
    secret: true,
  });
  expect(redactJson({ password: "a bc", authorization: "xyz1", "set-cookie": ["sid=1"] }, redact)).toEqual({
    password: "«redacted:secret-value»",
    authorization: "«redacted:secret-value»",
    "set-cookie": ["«redacted:secret-value»"],
  });
});

test("a name like __proto__ stays a name", () => {
  const value = JSON.parse('{"__proto__":{"a":"hunter2hunter2"}}');
  expect(JSON.stringify(redactJson(value, redact))).toBe(`{"__proto__":{"a":"${known}"}}`);
});
