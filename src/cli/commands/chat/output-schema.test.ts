import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { loadOutputSchema } from "./output-schema.ts";

async function load(schema: unknown) {
  await using folder = await tempFolder();
  const path = folder.file("schema.json");
  await writeFile(path, typeof schema === "string" ? schema : JSON.stringify(schema));
  return await loadOutputSchema(path);
}

const PERSON = {
  type: "object",
  properties: { name: { type: "string" }, age: { $ref: "#/$defs/age" } },
  required: ["name"],
  additionalProperties: false,
  $defs: { age: { type: "integer", minimum: 0 } },
};

test("a matching answer is returned as the JSON that the model wrote, bare or in a code fence", async () => {
  const schema = await load(PERSON);
  expect(schema.check('\n{"name":"Ada", "age":36}\n')).toEqual({ json: '{"name":"Ada", "age":36}' });
  expect(schema.check('```json\n{"name":"Ada","age":36}\n```\n')).toEqual({
    json: '{"name":"Ada","age":36}',
  });
  expect(schema.check('Here you go:\n```json\n{"name":"Ada"}\n```\nDone.')).toEqual({
    json: '{"name":"Ada"}',
  });
  expect(schema.check('```\n{"name":"Ada"}\n```\n```\n{"name":"Bob"}\n```')).toHaveProperty("problem");
  expect((await load({ type: "null" })).check("null")).toEqual({ json: "null" });
});

test.each(["12345678901234567890", "0.1000000000000000055", "1.50", "-0", "1E2"])(
  "the number %s stays as it was written",
  async (number) => {
    const json = `{"n":${number}}`;
    expect((await load({ properties: { n: { type: "number" } } })).check(json)).toEqual({ json });
  },
);

test.each(['{"n":1e400}', '{"n":[{"m":-1e999}]}', "1e400"])(
  "%s contains a number that is too large to parse and is refused, whatever the schema allows",
  async (answer) => {
    expect((await load({})).check(answer)).toEqual({ problem: "a number in it is too large" });
  },
);

test("each mismatch of an answer is described with its path", async () => {
  const schema = await load(PERSON);
  expect(schema.check("Ada is 36.")).toEqual({ problem: "it is not JSON" });
  expect(schema.check('{"age":-1,"x":1}')).toEqual({
    problem: expect.stringMatching(/must have required property 'name'.*\(x\).*\/age must be >= 0/),
  });
  expect((await load({ required: ["a"] })).check("{}")).toEqual({ problem: expect.stringContaining("'a'") });
});

test("a pattern that takes too long is abandoned", async () => {
  const schema = await load({ type: "string", pattern: "^(a+)+$" });
  expect(schema.check(`"${"a".repeat(40)}!"`)).toEqual({
    problem: "it took more than 2 s to check, perhaps because of a pattern",
  });
  expect(schema.check('"aaa"')).toEqual({ json: '"aaa"' });
});

test("draft 7 schemas are supported, and an invalid schema is refused with its file name", async () => {
  const draft7 = {
    $schema: "http://json-schema.org/draft-07/schema#",
    definitions: { word: { enum: ["yes", "no"] } },
    $ref: "#/definitions/word",
  };
  expect((await load(draft7)).check('"maybe"')).toHaveProperty("problem");
  for (const bad of ["{", "[]", { type: "objectt" }, { $ref: "#/nowhere" }])
    await expect(load(bad)).rejects.toThrow(/schema\.json cannot be used/);
});
