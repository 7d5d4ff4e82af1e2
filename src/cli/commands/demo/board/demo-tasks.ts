import type { ScriptInput } from "../../../../providers/scripted/script.ts";
import { CASES, type DemoOptions, PROGRESS } from "../open-demo.ts";

/** The number of the task whose worker is killed. */
export const KILLED_TASK = 6;

const CONVERT = `# convert.sh CELSIUS prints degrees Fahrenheit
echo $(($1 * 9 / 5 + 32))
`;

const TABLE = `# table.sh prints what convert.sh says, from 0 to 100
for c in 0 20 40 60 80 100; do echo "$c C is $(sh convert.sh $c) F"; done
`;

/** The long check, slow enough to be killed in the middle. It resumes where its progress file ends. */
const check = (pause: string): string => `# check.sh compares convert.sh with counting
touch ${PROGRESS}
done=$(wc -l < ${PROGRESS})
while [ "$done" -lt ${CASES} ]; do
  celsius=$((done * 5)); wanted=$((32 + done * 9))
  [ "$(sh convert.sh $celsius)" = "$wanted" ] || { echo "FAIL  $celsius C"; exit 1; }
  echo "ok    $celsius C is $wanted F" >> ${PROGRESS}
  done=$((done + 1)); sleep ${pause} 2>/dev/null || sleep 1
done
echo "all ${CASES} cases agree"
`;

export interface DemoTask {
  readonly title: string;
  readonly assignee: string;
  /** Numbers of its parent tasks; the first task has number 1. */
  readonly after: readonly number[];
  /** The file that the task must produce. */
  readonly file: string;
  readonly calls: readonly Call[];
  readonly summary: string;
  /** A question to a person, before the calls. */
  readonly question?: string;
}

type Call = readonly [tool: "write_file" | "terminal", input: Readonly<Record<string, string>>];

const write = (path: string, content: string): Call => ["write_file", { path, content }];
const command = (words: string): Call => ["terminal", { command: words }];

export function createGraph({ isFast }: DemoOptions): readonly DemoTask[] {
  return [
    {
      title: "Write the spec",
      assignee: "writer",
      after: [],
      file: "SPEC.md",
      calls: [write("SPEC.md", "convert.sh turns whole degrees Celsius into Fahrenheit.\n")],
      summary: "SPEC.md describes convert.sh",
    },
    {
      title: "Write convert.sh",
      assignee: "coder",
      after: [1],
      file: "convert.sh",
      calls: [write("convert.sh", CONVERT), command("sh convert.sh 100")],
      summary: "convert.sh prints 212 for 100",
    },
    {
      title: "Write table.sh",
      assignee: "coder",
      after: [1],
      file: "table.sh",
      calls: [write("table.sh", TABLE)],
      summary: "table.sh covers 0 to 100",
    },
    {
      title: "Write the guide",
      assignee: "writer",
      after: [1],
      file: "GUIDE.md",
      calls: [write("GUIDE.md", "    sh convert.sh 100\n    sh table.sh\n")],
      summary: "GUIDE.md shows both programs",
    },
    {
      title: "Write the check",
      assignee: "tester",
      after: [2],
      file: "check.sh",
      calls: [write("check.sh", check(isFast ? "0.05" : "0.1"))],
      summary: `check.sh tests ${CASES} cases`,
    },
    {
      title: `Check ${CASES} cases`,
      assignee: "tester",
      after: [5],
      file: PROGRESS,
      calls: [command("sh check.sh"), command("sh check.sh")], // the first is killed, the second does the rest
      summary: `all ${CASES} cases agree`,
    },
    {
      title: "Print the table",
      assignee: "coder",
      after: [2, 3],
      file: "TABLE.txt",
      calls: [command("sh table.sh > TABLE.txt && cat TABLE.txt")],
      summary: "TABLE.txt has six lines",
    },
    {
      title: "Pack it all up",
      assignee: "writer",
      after: [4, 6, 7],
      file: "MANIFEST",
      calls: [command("wc -c *.sh *.md *.txt > MANIFEST")],
      summary: "MANIFEST lists every file",
    },
  ];
}

/** The tasks of the board demo, and one whose worker asks a question that the user answers in the dashboard. */
export function createDashboardGraph(options: DemoOptions): readonly DemoTask[] {
  return [
    ...createGraph(options),
    {
      title: "Choose a licence",
      assignee: LICENSE_PROFILE,
      after: [1],
      file: "LICENSE",
      question: "MIT or Apache 2.0?",
      calls: [write("LICENSE", "As you said on the board.\n")],
      summary: "LICENSE names the licence that you chose",
    },
  ];
}

/**
 * This profile has only one task, because its scripted model recognises the run after the answer by the text `ended: blocked`,
 * which would match any other blocked task of the profile too.
 */
const LICENSE_PROFILE = "lawyer";
const AFTER_ANSWER = "ended: blocked";

/** The body of a task, by which the scripted model recognises it. */
export const bodyOf = (number: number): string => `This is part ${number} of the demonstration.`;

/** The answers and calls of the scripted model of one profile. */
export function createScript(
  graph: readonly DemoTask[],
  assignee: string,
  { isFast, staysOpen }: DemoOptions,
): ScriptInput {
  const pace = isFast ? {} : staysOpen ? { chunk: 6, delay_ms: 300 } : { chunk: 16, delay_ms: 40 };
  const turns = graph.flatMap((task, index) => {
    if (task.assignee !== assignee) return [];
    const when = bodyOf(index + 1);
    const calls = task.calls.map(([name, input]) => ({ tools: [{ name, input }], ...pace }));
    const end = { tools: [{ name: "kanban_complete", input: { summary: task.summary } }] };
    const answers = [...calls, end];
    if (task.question === undefined) return [{ when, answers }];
    const ask = { tools: [{ name: "kanban_block", input: { reason: task.question } }] };
    return [
      { when: AFTER_ANSWER, answers },
      { when, answers: [ask] },
    ];
  });
  return { turns };
}
