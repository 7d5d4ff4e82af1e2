import { quoteWord } from "../../channel/quote.ts";
import { BASE_SCRIPT } from "../file-scripts.ts";
import { extendedPattern } from "./extended-pattern.ts";
import { findExpression, ripgrepGlob } from "./glob.ts";
import type { SearchPlan } from "./search-query.ts";

/** Folders of generated files, whose matches would bury those in source files. To search one, name it as the root. */
const GENERATED_FOLDERS = [
  ".git",
  ".hg",
  ".svn",
  ".jj",
  "node_modules",
  "__pycache__",
  ".venv",
  "venv",
  ".tox",
  ".mypy_cache",
  ".pytest_cache",
  ".ruff_cache",
  ".gradle",
];
/** Kernel files may be endless, and reading some of them changes the state of the machine. */
const KERNEL_FOLDERS = ["proc", "sys", "dev"];
/** The bytes of a line that are sent: 500 characters of four bytes, with some margin. */
export const SENT_LINE_BYTES = 2_500;
const MAX_PATH_BYTES = 4_096;

export interface SearchPrograms {
  /** The path of `rg`, if it is not on the PATH of the environment. */
  readonly ripgrep?: string | undefined;
  /** Use `find` and `grep` even if `rg` is available. */
  readonly withoutRipgrep?: boolean | undefined;
}

/**
 * The script of one search. It prints names as `./name` NUL, and lines as `./name` NUL number `:` or `-` text newline. The
 * fact `words` holds the end of the programs' error output, with the exit code as its last line.
 */
export function createSearchScript(plan: SearchPlan, { ripgrep, withoutRipgrep }: SearchPrograms): string {
  return `${BASE_SCRIPT}
follow
[ -e "$p" ] || absent
say path "$p"
kernel=
if [ -d "$p" ]; then
  [ -r "$p" ] && [ -x "$p" ] || stop denied
  cd -P "$p" || stop denied
  at=.
  [ "$p" != / ] || kernel=1
else
  require_readable
  d=\${p%/*}
  cd -P "\${d:-/}" || stop denied
  at=./\${p##*/}
fi
exec 3>&1 </dev/null
# Only error output is collected; results are sent at once.
collect() { e=$( { "$@" 2>&1 >&3 3>&- | tail -c 4000; } ); say stderr "$e"; }
status_of() { "$@"; printf '\\n%s' "$?" >&2; }
require_pattern() {
  e=$(echo x | "$@" - 2>&1 >/dev/null) # a line of input, because some programs compile the pattern only when they need it
  [ $? -lt 2 ] || { say invalid "$e"; exit 0; }
}
rg=
${withoutRipgrep ? "" : `for f in ${quoteWord(ripgrep ?? "rg")} rg; do [ -n "$rg" ] || rg=$(command -v "$f"); done`}
if [ -n "$rg" ]; then
  say engine rg
  ${byRipgrep(plan)}
else
  say engine grep
  command -v find >/dev/null && command -v grep >/dev/null || { say error "find and grep"; stop no-program; }
  ${byFind(plan)}
fi
say done 1
`;
}

function byRipgrep(plan: SearchPlan): string {
  const pattern = `${flags(plan, "-F", "")} -e ${quoteWord(plan.pattern)}`;
  const outputs = {
    names: "--files",
    files_only: `-l ${pattern}`,
    count: `-c -H ${pattern}`,
    content: `-n -H --no-heading --line-buffered --max-columns ${SENT_LINE_BYTES} --max-columns-preview -m ${maxMatchesPerFile(plan)} -C ${plan.contextLines} ${pattern}`,
  };
  const only = plan.globs.map(
    (glob) =>
      `${plan.output === "names" && plan.ignoreCase ? "--iglob" : "--glob"} ${quoteWord(ripgrepGlob(glob))}`,
  );
  const pruned = GENERATED_FOLDERS.map((name) => `--glob ${quoteWord(`!${name}/`)}`);
  const kernel = KERNEL_FOLDERS.map((name) => `--glob ${quoteWord(`!/${name}/`)}`).join(" ");
  const words = `--no-config --no-ignore --hidden --sort path --color never --null ${outputs[plan.output]} ${only.join(" ")} ${pruned.join(" ")}`;
  return `
  ${plan.output === "names" ? "" : `require_pattern "$rg" --no-config ${pattern}`}
  if [ -n "$kernel" ]; then set -- ${kernel}; else set --; fi
  collect status_of "$rg" ${words} "$@" -- "$at"`;
}

function byFind(plan: SearchPlan): string {
  const pattern = plan.literal ? plan.pattern : extendedPattern(plan.pattern);
  const named = GENERATED_FOLDERS.map((name) => `-name ${name}`).join(" -o ");
  const kernel = KERNEL_FOLDERS.map((name) => `-path ./${name}`).join(" -o ");
  const only = plan.globs.map((glob) => findExpression(glob, plan.output === "names" && plan.ignoreCase));
  // Search in batches and check the deadline after each, so that results found before the deadline are not lost.
  const batch = `
bad=0
${plan.output === "names" ? `printf '%s\\000' "$@"` : batchOf(plan)}
[ "$(date +%s)" -lt "$DEADLINE" ] || { echo "out of time" >&2; kill "$PPID"; }
exit $bad`;
  const search = `find "$at" \\( -type d ! -path . \\( ${named} "$@" \\) -prune \\) -o -type f ${only.join(" ")} -exec sh -c "$BATCH" sh {} +`;
  const cut = `if [ -n "$NULLS" ]; then cut -b 1-${MAX_PATH_BYTES + SENT_LINE_BYTES}; else cat; fi`;
  return `
  PATTERN=${quoteWord(pattern)} BATCH=${quoteWord(batch)} NULLS=
  DEADLINE=$(($(date +%s) + ${Math.ceil(plan.timeoutMs / 1_000)}))
  printf 'x\\n' | grep --null -c x >/dev/null 2>&1 && NULLS=1
  export PATTERN NULLS DEADLINE
  ${plan.output === "names" ? "" : `require_pattern grep ${flags(plan, "-F", "-E")} -e "$PATTERN"`}
  if [ -n "$kernel" ]; then set -- -o ${kernel}; else set --; fi
  run_find() { ${search}; }
  run_find_cut() { status_of run_find "$@" | ${cut}; }
  ${plan.output === "content" ? "collect run_find_cut" : "collect status_of run_find"} "$@"`;
}

/** One batch of `find`: all files at once if grep can end names with NUL, else one by one. */
function batchOf(plan: SearchPlan): string {
  const grep = `grep ${flags(plan, "-F", "-E")}`;
  const pattern = `-e "$PATTERN" --`;
  const content = `-m ${maxMatchesPerFile(plan)}${plan.contextLines > 0 ? ` -C ${plan.contextLines}` : ""}`;
  const together = {
    files_only: `${grep} -lI --null ${pattern} "$@" || [ $? = 1 ] || bad=1`,
    count: `${grep} -lI --null ${pattern} "$@" | xargs -0 ${grep} -cH --null ${pattern}`,
    content: `${grep} -nHI --null ${content} ${pattern} "$@" || [ $? = 1 ] || bad=1`,
  };
  const single = {
    files_only: `printf '%s\\000' "$f"`,
    count: `printf '%s\\000%s\\n' "$f" "$(${grep} -c ${pattern} "$f")"`,
    content: `${grep} -n ${content} ${pattern} "$f" | cut -b 1-${SENT_LINE_BYTES} | while IFS= read -r l; do printf '%s\\000%s\\n' "$f" "$l"; done`,
  };
  const output = plan.output === "names" ? "files_only" : plan.output;
  return `
if [ -n "$NULLS" ]; then
  ${together[output]}
elif ${grep} -q -s ${pattern} "$@" || [ $? -gt 1 ]; then
  for f do
    ${grep} -q ${pattern} "$f"
    s=$?
    [ $s -lt 2 ] || bad=1
    [ $s = 0 ] || continue
    [ "$(head -c 8000 "$f" | wc -c)" = "$(head -c 8000 "$f" | tr -d '\\000' | wc -c)" ] || continue
    ${single[output]}
  done
fi`;
}

function flags({ literal, ignoreCase }: SearchPlan, fixed: string, extended: string): string {
  return `${literal ? fixed : extended}${ignoreCase ? " -i" : ""}`;
}

/** The most matches of one file that a page can need. */
function maxMatchesPerFile({ offset, limit }: SearchPlan): number {
  return offset + limit + 1;
}
