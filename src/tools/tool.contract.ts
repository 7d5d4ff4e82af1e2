import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bundleOf } from "../../test/support/child.ts";
import { openToolLab, SECRET, type TestEnvironment, type ToolLab } from "../../test/support/tool-lab.ts";
import type { Tool } from "./tool.ts";
import type { PastSessions } from "./tool-parts.ts";

/** How the suite calls each tool. A tool without a row fails. */
interface ToolCase {
  /** A command that runs in the folder first. */
  readonly setUp?: string;
  /** A call that works. */
  readonly valid: object;
  /** A required argument; undefined if all are optional. */
  readonly required?: string;
  /** An argument and an invalid value for it. */
  readonly wrong: readonly [name: string, value: unknown];
  /** A call whose result would contain the secret if it were not redacted. */
  readonly leaky: object;
  /** A call whose full result is 50 MB; undefined if the tool has no large results. */
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
    wrong: ["offset", -1],
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
  vision_analyze: {
    setUp: `${SECRET_FILE}; echo hi > a.png`,
    valid: { path: "a.png", question: "What is on it?" },
    required: "question",
    wrong: ["path", { a: 1 }],
    leaky: { path: `${SECRET}.txt`, question: "What is on it?" },
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
  send_file: {
    setUp: `${SECRET_FILE}; echo hi > hi.txt`,
    valid: { path: "hi.txt", caption: "here it is" },
    required: "path",
    wrong: ["caption", 5],
    leaky: { path: `${SECRET}.txt` },
  },
};

const fileSending = { maxBytes: 1_000_000, folders: [], send: async () => undefined };
const vision = { maxBytes: 1_000, look: async () => `It shows ${SECRET}.` };
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

/** The size limit of a result, including its note. */
const MAX_CHARS = 101_000;
const child = new URL("../../test/support/tool-definitions-child.ts", import.meta.url);

/** The contract of every tool, in every environment. */
export function toolContract(
  name: string,
  open: () => Promise<TestEnvironment>,
  only?: readonly string[],
): void {
  const names = only ?? Object.keys(CASES);

  describe(`tools in ${name}`, () => {
    let testEnvironment: TestEnvironment;
    beforeAll(async () => {
      testEnvironment = await open();
    }, 600_000);
    afterAll(() => testEnvironment?.[Symbol.asyncDispose](), 600_000);
    const findAnswer = () => "red";
    const lab = (options: Parameters<typeof openToolLab>[1] = {}): Promise<ToolLab> =>
      openToolLab(testEnvironment, { findAnswer, pastSessions, fileSending, vision, ...options });

    test("the suite covers exactly the existing tools", async () => {
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
      const expectRefused = async (input: object | string, ...words: readonly (string | RegExp)[]) => {
        await using own = await lab();
        const result = await own.call(tool, input);
        expect(result.failed).toBe(true);
        for (const word of words) expect(result.text).toMatch(word);
      };

      test("A4: arguments that are not JSON are refused with an explanation", async () => {
        await expectRefused("{not json", /not valid JSON/, /again/);
        await expectRefused(JSON.stringify(given.valid).slice(0, -1) || "{", /not valid JSON/);
        await expectRefused("\0", /not valid JSON/);
      });

      test("A4: arguments that are not an object are refused with an explanation", async () => {
        for (const text of ["[]", "5", "null", '"text"']) await expectRefused(text, /one JSON object/);
      });

      test("A4: an unknown argument is named, with the closest known one", async () => {
        const [known = ""] = Object.keys(given.valid).concat(given.wrong[0]);
        const misspelt = `${known}s`;
        await expectRefused(
          { ...given.valid, [misspelt]: 1 },
          misspelt,
          new RegExp(`did you mean \\W*${known}`),
        );
      });

      const { required, huge } = given;
      if (required !== undefined) {
        test("A4: a missing required argument is named", async () => {
          const rest = Object.fromEntries(Object.entries(given.valid).filter(([key]) => key !== required));
          await expectRefused(rest, new RegExp(`\\W${required}\\W+ is missing`), /whole call again/);
        });
      }

      test("A4: a value of the wrong type is refused with an explanation", async () => {
        const [argument, value] = given.wrong;
        await expectRefused({ ...given.valid, [argument]: value }, argument);
      });

      test("a valid call succeeds", async () => {
        await using own = await lab();
        if (given.setUp !== undefined) await own.sh(given.setUp);
        const result = await own.call(tool, given.valid);
        expect(result, result.text).toMatchObject({ failed: false });
      });

      test("a call that is stopped while it runs settles", async () => {
        // Sleeps longer than the timeout of the test, so that only the stop can end the call.
        const slow = (request: Parameters<NonNullable<Slow>>[0], run: Parameters<NonNullable<Slow>>[1]) =>
          run({ ...request, command: `sleep 3000; ${request.command}` });
        await using slowed = await lab({ intercept: slow });
        const stop = new AbortController();
        const settled = slowed.call(tool, given.valid, stop.signal);
        setTimeout(() => stop.abort(), 100);
        await expect(settled).resolves.toMatchObject({ text: expect.any(String) });
      }, 600_000);

      test("K6, M4: neither the text for the model nor the display for the user contains a secret", async () => {
        await using own = await lab();
        if (given.setUp !== undefined) await own.sh(given.setUp);
        const { text, display = "" } = await own.call(tool, given.leaky);
        expect(text).toContain("«redacted:");
        expect(text).not.toContain(SECRET);
        expect(display).not.toContain(SECRET);
      });

      if (huge !== undefined) {
        test("C2: a huge result is bounded", async () => {
          await using own = await lab();
          if (given.setUp !== undefined) await own.sh(given.setUp);
          const { text } = await own.call(tool, huge);
          expect((await own.fit(text, tool)).length).toBeLessThan(MAX_CHARS);
        }, 600_000);
      }
    });
  });
}

/** The tool definitions as the model receives them. */
function describeAll(tools: ReadonlyMap<string, Tool>): string {
  return JSON.stringify(
    [...tools.values()].map(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
  );
}

type Slow = NonNullable<Parameters<typeof openToolLab>[1]>["intercept"];
