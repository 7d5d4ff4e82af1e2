import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bundleOf } from "../../test/support/child.ts";
import { openToolLab, SECRET, type ToolLab, type ToolPlace } from "../../test/support/tool-lab.ts";
import type { Tool } from "./tool.ts";
import type { PastSessions } from "./workspace.ts";

/** How each tool is called by the suite. A tool without a row does not pass. */
interface ToolCase {
  /** Made in the folder before. */
  readonly setUp?: string;
  /** A call that works. */
  readonly valid: object;
  /** An argument that cannot be left out; undefined where there is none. */
  readonly required?: string;
  /** An argument and a value that it cannot take. */
  readonly wrong: readonly [name: string, value: unknown];
  /** A call of which an answer holds the secret, in whatever part. */
  readonly leaky: object;
  /** A call whose honest answer is 50 MB; undefined where the tool cannot have one. */
  readonly huge?: object;
}

const MANY_LINES = "yes xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx | head -c 50000000 > huge.txt";
const SECRET_FILE = `printf '%s\\n' 'key = ${SECRET}' 'other' > '${SECRET}.txt'`;

const CASES: Readonly<Record<string, ToolCase>> = {
  terminal: {
    valid: { command: "echo hi" },
    required: "command",
    wrong: ["command", 5],
    leaky: { command: `echo ${SECRET}; echo ${SECRET} >&2; cd '/${SECRET}'` },
    huge: { command: "yes x | head -c 50000000" },
  },
  process: {
    valid: { action: "list" },
    required: "action",
    wrong: ["action", "jump"],
    leaky: { action: "poll", session_id: SECRET },
  },
  read_file: {
    setUp: `${SECRET_FILE}; ${MANY_LINES}`,
    valid: { path: "huge.txt", limit: 1 },
    required: "path",
    wrong: ["offset", 0],
    leaky: { path: `${SECRET}.txt` },
    huge: { path: "huge.txt", limit: 2_000 },
  },
  write_file: {
    valid: { path: "new.txt", content: "x\n" },
    required: "content",
    wrong: ["path", { a: 1 }],
    leaky: { path: `${SECRET}-new.txt`, content: `${SECRET}\n` },
  },
  patch: {
    setUp: `${SECRET_FILE}; printf '%s\\n' one two > plain.txt; { head -c 5000000 /dev/zero | tr '\\0' x; echo end; } > line.txt`,
    valid: { mode: "replace", path: "plain.txt", old_string: "one", new_string: "eins" },
    wrong: ["mode", "sometimes"],
    leaky: { mode: "replace", path: `${SECRET}.txt`, old_string: "other", new_string: `new ${SECRET}` },
    huge: { mode: "replace", path: "line.txt", old_string: "end", new_string: "END" },
  },
  search_files: {
    setUp: `${SECRET_FILE}; ${MANY_LINES}`,
    valid: { pattern: "other" },
    required: "pattern",
    wrong: ["target", "people"],
    leaky: { pattern: "key" },
    huge: { pattern: "x+", limit: 1_000 },
  },
  todo: {
    valid: { todos: [{ id: "1", content: "look" }] },
    wrong: ["todos", "many"],
    leaky: { todos: [{ id: "1", content: `use ${SECRET}` }] },
    huge: { todos: Array.from({ length: 256 }, (_, id) => ({ id: `${id}`, content: "x".repeat(4_000) })) },
  },
  session_search: {
    valid: {},
    wrong: ["limit", "some"],
    leaky: { query: "secret" },
    huge: { session_id: "huge" },
  },
  clarify: {
    valid: { question: "red or blue?", choices: ["red", "blue"] },
    required: "question",
    wrong: ["choices", 5],
    leaky: { question: `shall I use ${SECRET}?` },
    huge: { question: "x".repeat(50_000_000) },
  },
};

const PAST = { title: undefined, source: "cli", cwd: "/", activeAt: 0, parent: undefined };
const pastSessions: PastSessions = {
  search: async () => [{ session: { ...PAST, id: "one" }, matches: [{ number: 1, snippet: SECRET }] }],
  list: () => [{ ...PAST, id: "one", opening: `it is ${SECRET}`, messages: 1 }],
  find: (id) => ({ ...PAST, id }),
  messages: (id) =>
    id === "huge"
      ? Array.from({ length: 50 }, (_, index) => ({
          number: index + 1,
          role: "tool",
          text: "x".repeat(1_000_000),
        }))
      : [{ number: 1, role: "user", text: `it is ${SECRET}` }],
};

/** What a result may have at most, its note included. */
const MOST_CHARS = 101_000;
const child = new URL("../../test/support/tool-definitions-child.ts", import.meta.url);

/** What every tool promises, in whichever environment it works. */
export function toolContract(name: string, open: () => Promise<ToolPlace>, only?: readonly string[]): void {
  const names = only ?? Object.keys(CASES);

  describe(`tools in ${name}`, () => {
    let place: ToolPlace;
    beforeAll(async () => {
      place = await open();
    }, 600_000);
    afterAll(() => place?.[Symbol.asyncDispose](), 600_000);
    const ask = async (question: string) => [question.includes("or") ? "red" : question];
    const lab = (options: Parameters<typeof openToolLab>[1] = {}): Promise<ToolLab> =>
      openToolLab(place, { ask, pastSessions, ...options });

    test("all are known to this suite, and no others", async () => {
      await using own = await lab();
      expect([...own.tools.keys()]).toEqual(Object.keys(CASES));
    });

    test("description and schema are the same bytes in every call and every process", async () => {
      await using own = await lab();
      await using other = await lab();
      const bytes = describeAll(own.tools);
      expect(describeAll(own.tools)).toBe(bytes);
      expect(describeAll(other.tools)).toBe(bytes);
      const { stdout } = await promisify(execFile)(process.execPath, [bundleOf(child)]);
      expect(stdout).toBe(bytes);
    }, 600_000);

    describe.each(names)("%s", (tool) => {
      const given = CASES[tool];
      if (given === undefined) throw new Error(`${tool} has no row in the suite`);
      const advises = async (input: object | string, ...words: readonly (string | RegExp)[]) => {
        await using own = await lab();
        const result = await own.call(tool, input);
        expect(result.failed).toBe(true);
        for (const word of words) expect(result.text).toMatch(word);
      };

      test("A4: arguments that are no JSON come back as advice", async () => {
        await advises("{not json", /not valid JSON/, /again/);
        await advises(JSON.stringify(given.valid).slice(0, -1) || "{", /not valid JSON/);
        await advises("\0", /not valid JSON/);
      });

      test("A4: arguments that are no object come back as advice", async () => {
        for (const text of ["[]", "5", "null", '"text"']) await advises(text, /one JSON object/);
      });

      test("A4: an argument that does not exist is named, with the one that was meant", async () => {
        const [known = ""] = Object.keys(given.valid).concat(given.wrong[0]);
        const misspelt = `${known}s`;
        await advises({ ...given.valid, [misspelt]: 1 }, misspelt, new RegExp(`did you mean \\W*${known}`));
      });

      const { required, huge } = given;
      if (required !== undefined) {
        test("A4: a required argument that is missing is named", async () => {
          const rest = Object.fromEntries(Object.entries(given.valid).filter(([key]) => key !== required));
          await advises(rest, new RegExp(`\\W${required}\\W+ is missing`), /whole call again/);
        });
      }

      test("A4: a value of the wrong type comes back as advice", async () => {
        const [argument, value] = given.wrong;
        await advises({ ...given.valid, [argument]: value }, argument);
      });

      test("a call that is right works", async () => {
        await using own = await lab();
        if (given.setUp !== undefined) await own.sh(given.setUp);
        const result = await own.call(tool, given.valid);
        expect(result, result.text).toMatchObject({ failed: false });
      });

      test("a call that is stopped in the middle settles", async () => {
        // Longer than the suite waits, so that only the stop can end it.
        const slow = (request: Parameters<NonNullable<Slow>>[0], run: Parameters<NonNullable<Slow>>[1]) =>
          run({ ...request, command: `sleep 3000; ${request.command}` });
        await using slowed = await lab({ intercept: slow, ask: (...all) => waitFor(all[3]) });
        const stop = new AbortController();
        const settled = slowed.call(tool, given.valid, stop.signal);
        setTimeout(() => stop.abort(), 100);
        await expect(settled).resolves.toMatchObject({ text: expect.any(String) });
      }, 600_000);

      test("K6, M4: nothing that the model or a person reads has a secret in it", async () => {
        await using own = await lab();
        if (given.setUp !== undefined) await own.sh(given.setUp);
        const { text, display = "" } = await own.call(tool, given.leaky);
        expect(text).toContain("«redacted:");
        expect(text).not.toContain(SECRET);
        expect(display).not.toContain(SECRET);
      });

      if (huge !== undefined) {
        test("C2: the result of a huge answer is bounded", async () => {
          await using own = await lab();
          if (given.setUp !== undefined) await own.sh(given.setUp);
          const { text } = await own.call(tool, huge);
          expect((await own.fit(text, tool)).length).toBeLessThan(MOST_CHARS);
        }, 600_000);
      }
    });
  });
}

/** All that a model is told of the tools. */
function describeAll(tools: ReadonlyMap<string, Tool>): string {
  return JSON.stringify(
    [...tools.values()].map(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
  );
}

type Slow = NonNullable<Parameters<typeof openToolLab>[1]>["intercept"];

/** Never answers; ends with the signal. */
function waitFor(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}
