import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ScriptInput } from "../../../providers/scripted/script.ts";
import { CASES, type DemoOptions, PROGRESS } from "./open-demo.ts";

export const PROGRAM = "pages.sh";
const BUG = "$(($1 / $2))";
const FIX = "$((($1 + $2 - 1) / $2))";

/** The program with its bug: the division rounds down, so a partly filled page is not counted. */
export const BROKEN = `# pages.sh ITEMS PER_PAGE prints how many pages are needed
echo ${BUG}
`;
export const REPAIRED = BROKEN.replace(BUG, () => FIX);

const TEST = `failed=0
check() {
  got=$(sh pages.sh "$1" 10)
  if [ "$got" = "$2" ]; then echo "ok    $1 items need $2 pages"
  else echo "FAIL  $1 items need $2 pages, not $got"; failed=1; fi
}
check 20 2
check 21 3
exit $failed
`;

/** The long check, slow enough to be killed in the middle. It resumes where its progress file ends. */
const checkAll = (
  pause: string,
): string => `# Compares pages.sh with counting; resumes where ${PROGRESS} ends.
touch ${PROGRESS}
items=$(wc -l < ${PROGRESS})
while [ "$items" -lt ${CASES} ]; do
  items=$((items + 1)); left=$items; pages=0
  while [ "$left" -gt 0 ]; do left=$((left - 7)); pages=$((pages + 1)); done
  [ "$(sh pages.sh "$items" 7)" = "$pages" ] || { echo "FAIL  $items items"; exit 1; }
  echo "ok    $items items need $pages pages" >> ${PROGRESS}
  sleep ${pause} 2>/dev/null || sleep 1
done
echo "all ${CASES} cases agree"
`;

/** Writes the small program with its bug, its test and the long check, all for plain `sh`, which every sandbox has. */
export async function writeProject(folder: string, { isFast }: DemoOptions): Promise<void> {
  await Promise.all([
    writeFile(join(folder, PROGRAM), BROKEN),
    writeFile(join(folder, "test.sh"), TEST),
    writeFile(join(folder, "check-all.sh"), checkAll(isFast ? "0.05" : "0.1")),
  ]);
}

export const TASK = "Fix pages.sh: its test fails.";
export const CONTINUE = "You were interrupted. Continue.";

/** The answers and calls of the scripted model. */
export function createScript({ isFast }: DemoOptions): ScriptInput {
  const pace = isFast ? {} : { chunk: 4, delay_ms: 15 };
  const reply = (text: string) => ({ text, ...pace });
  const call = (text: string, name: string, input: Record<string, unknown>) => ({
    text,
    tools: [{ name, input }],
    // Streamed in larger chunks, because the input of a call is not shown while it streams.
    ...(isFast ? {} : { chunk: 12, delay_ms: 30 }),
  });
  return {
    turns: [
      {
        when: TASK,
        answers: [
          call("First the program.", "read_file", { path: PROGRAM }),
          call("Now its test.", "terminal", { command: "sh test.sh" }),
          call("The division rounds down: a page that is not full gets lost.", "patch", {
            path: PROGRAM,
            old_string: BUG,
            new_string: FIX,
          }),
          call(`And all cases up to ${CASES}, which takes a while.`, "terminal", {
            command: "sh check-all.sh",
          }),
        ],
      },
      {
        when: CONTINUE,
        answers: [
          call("That was interrupted. How far did it get?", "terminal", { command: `tail -n 1 ${PROGRESS}` }),
          call("Then only the rest is left.", "terminal", { command: "sh check-all.sh" }),
          call("", "terminal", { command: "sh test.sh" }),
          call("", "write_file", {
            path: "NOTES.md",
            content: `${PROGRAM} rounds up now; check-all.sh agrees for 1 to ${CASES} items.\n`,
          }),
          reply(`${PROGRAM} is fixed, its test passes, and no case was checked twice.`),
        ],
      },
    ],
  };
}
