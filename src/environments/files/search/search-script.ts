import { quoteWord } from "../../channel/quote.ts";
import { BASE_SCRIPT } from "../file-scripts.ts";
import { extendedPattern } from "./extended-pattern.ts";
import { findExpression, ripgrepGlob } from "./glob.ts";
import type { SearchPlan } from "./search-query.ts";

/** Folders that hold what programs made: they drown what a person wrote. To search one, name it as the root. */
const NOISY = [
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
/** Files of the kernel have no end and some change the machine when they are read. */
const KERNEL = ["proc", "sys", "dev"];
/** Bytes of a line that are sent: 500 characters of four bytes, with something to spare. */
export const SENT_LINE_BYTES = 2_500;
const LONGEST_PATH = 4_096;

export interface SearchPrograms {
  /** Where `rg` is, if not on the PATH of the environment. */
  readonly ripgrep?: string | undefined;
  /** Use `find` and `grep` even where there is `rg`. */
  readonly withoutRipgrep?: boolean | undefined;
}

/**
 * The program of one search. Names come as `./name` NUL, lines as `./name` NUL number `:` or `-` text newline. What the
 * tools complained of is kept to its last part, with their exit code as the last word.
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
# Only complaints are held back: what is found goes out at once.
collect() { e=$( { "$@" 2>&1 >&3 3>&- | tail -c 4000; } ); say words "$e"; }
status_of() { "$@"; printf '\\n%s' "$?" >&2; }
require_pattern() {
  e=$(echo x | "$@" - 2>&1 >/dev/null) # a line, since some read the pattern only when they need it
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
    content: `-n -H --no-heading --line-buffered --max-columns ${SENT_LINE_BYTES} --max-columns-preview -m ${mostOfFile(plan)} -C ${plan.contextLines} ${pattern}`,
  };
  const only = plan.globs.map(
    (glob) =>
      `${plan.output === "names" && plan.ignoreCase ? "--iglob" : "--glob"} ${quoteWord(ripgrepGlob(glob))}`,
  );
  const pruned = NOISY.map((name) => `--glob ${quoteWord(`!${name}/`)}`);
  const kernel = KERNEL.map((name) => `--glob ${quoteWord(`!/${name}/`)}`).join(" ");
  const words = `--no-config --no-ignore --hidden --sort path --color never --null ${outputs[plan.output]} ${only.join(" ")} ${pruned.join(" ")}`;
  return `
  ${plan.output === "names" ? "" : `require_pattern "$rg" --no-config ${pattern}`}
  if [ -n "$kernel" ]; then set -- ${kernel}; else set --; fi
  collect status_of "$rg" ${words} "$@" -- "$at"`;
}

function byFind(plan: SearchPlan): string {
  const pattern = plan.literal ? plan.pattern : extendedPattern(plan.pattern);
  const named = NOISY.map((name) => `-name ${name}`).join(" -o ");
  const kernel = KERNEL.map((name) => `-path ./${name}`).join(" -o ");
  const only = plan.globs.map((glob) => findExpression(glob, plan.output === "names" && plan.ignoreCase));
  // Read in turns: after each the clock is asked, so that what was found before the end of time is not lost.
  const batch = `
bad=0
${plan.output === "names" ? `printf '%s\\000' "$@"` : batchOf(plan)}
[ "$(date +%s)" -lt "$DEADLINE" ] || { echo "out of time" >&2; kill "$PPID"; }
exit $bad`;
  const search = `find "$at" \\( -type d ! -path . \\( ${named} "$@" \\) -prune \\) -o -type f ${only.join(" ")} -exec sh -c "$BATCH" sh {} +`;
  const cut = `if [ -n "$NULLS" ]; then cut -b 1-${LONGEST_PATH + SENT_LINE_BYTES}; else cat; fi`;
  return `
  PATTERN=${quoteWord(pattern)} BATCH=${quoteWord(batch)} NULLS=
  DEADLINE=$(($(date +%s) + ${Math.ceil(plan.timeoutMs / 1_000)}))
  printf 'x\\n' | grep --null -c x >/dev/null 2>&1 && NULLS=1
  export PATTERN NULLS DEADLINE
  ${plan.output === "names" ? "" : `require_pattern grep ${flags(plan, "-F", "-E")} -e "$PATTERN"`}
  if [ -n "$kernel" ]; then set -- -o ${kernel}; else set --; fi
  look() { ${search}; }
  look_cut() { status_of look "$@" | ${cut}; }
  ${plan.output === "content" ? "collect look_cut" : "collect status_of look"} "$@"`;
}

/** One turn of `find`: with a grep that ends names by NUL all files at once, else one by one. */
function batchOf(plan: SearchPlan): string {
  const grep = `grep ${flags(plan, "-F", "-E")}`;
  const pattern = `-e "$PATTERN" --`;
  const content = `-m ${mostOfFile(plan)}${plan.contextLines > 0 ? ` -C ${plan.contextLines}` : ""}`;
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

/** More of one file are never shown. */
function mostOfFile({ offset, limit }: SearchPlan): number {
  return offset + limit + 1;
}
