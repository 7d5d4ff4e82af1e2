import { quoteWord } from "../channel/quote.ts";

/**
 * Shell programs, for any POSIX sh, that start a job and look at it. A job is two processes in sessions of their own:
 *
 *   keeper   starts the job, waits for it and writes its exit code down; a job that kills its own group does not hit it
 *   job      the shell that runs the command; its output goes to a file, its input is a FIFO or nothing
 *
 * and, where it takes input, a third that holds the FIFO open until it reads a line from `close`: only then does the job see
 * the end of its input. All of them carry the job's id as HERMES_COMMAND_ID. The folder of a job, for its user alone,
 * holds `out`, `exit` once it is over, and `in`, `close` and `closed` where it takes input.
 */

/** Fields: INPUT UMASK. The command comes as input, whole before anything of it runs: no argument shows it. */
const JOB = `
__j=$(cat; echo .)
exec <"$1"
umask "$2"
echo ready >&8
exec 8>&-
[ -z "$BASH_VERSION" ] || shopt -s expand_aliases
__j=\${__j%.}
set --
eval "$__j"
`;

/** Fields: FOLDER SHELL TAKES-INPUT UMASK JOB. Prints who it and the job are to whoever starts it. */
const KEEPER = `
exec 8>&1 >/dev/null
input=/dev/null holder=
if [ "$3" = 1 ]; then
  mkfifo "$1/in" "$1/close" || exit 1
  input=$1/in
  ( exec 8>&- 2>/dev/null; read -r _ <&6 ) </dev/null 6<>"$1/close" 7<>"$1/in" &
  holder=$!
fi
exec 9<&0 </dev/null
setsid "$2" -c "$5" hermes-job "$input" "$4" <&9 9<&- >>"$1/out" 2>&1 &
job=$!
exec 9<&- 2>/dev/null
start_time() {
  line=; IFS= read -r line <"/proc/$1/stat"
  set -- \${line##*) }
  shift 19
  time=$1
}
start_time "$job"; of_job=$time
start_time "$$"; of_keeper=$time
boot=; read -r boot </proc/sys/kernel/random/boot_id
printf '%s %s %s %s %s\\n' "$job" "$of_job" "$$" "$of_keeper" "$boot" >&8
exec 8>&-
wait "$job"
printf '%s\\n' "$?" >"$1/exit"
[ -z "$holder" ] || kill "$holder"
`;

/** Fields: ID TAKES-INPUT SHELL KEEPER JOB; the command as input. Prints `failed` and why, or who runs and where. */
const START = `
mask=$(umask)
umask 077
fail() { printf 'failed %s\\n' "$1"; [ -z "$dir" ] || rm -rf "$dir"; exit 1; }
dir=
[ -r /proc/self/stat ] || fail 'there is no /proc'
command -v setsid >/dev/null 2>&1 || fail 'there is no setsid'
for base in "\${TMPDIR:-/tmp}" /tmp /dev/shm; do
  case $base in /*) ;; *) continue ;; esac
  root=$base/hermes-jobs-$(id -u)
  mkdir "$root" 2>/dev/null
  [ -d "$root" ] && [ ! -L "$root" ] && [ -O "$root" ] && chmod 700 "$root" || continue
  mkdir "$root/$1" 2>/dev/null && dir=$root/$1 && break
done
[ -n "$dir" ] || fail 'no folder for its output can be made in TMPDIR, /tmp or /dev/shm'
(: >"$dir/out") 2>/dev/null || fail 'its output file cannot be made'
exec 9<&0 </dev/null
said=$(HERMES_COMMAND_ID=$1 HERMES_JOB_ID=$1 PYTHONUNBUFFERED=1 \\
  setsid sh -c "$4" hermes-job "$dir" "$3" "$2" "$mask" "$5" <&9 9<&- 2>>"$dir/out" &)
case $said in *ready*) ;; *) fail "$(head -c 1000 "$dir/out")" ;; esac
printf '%s\\n%s\\n' "$said" "$dir"
pwd -P
`;

/**
 * What a session's shell runs to start a job. It becomes another program, so that the state of the session stays as it
 * was; functions and aliases of bash come along as text, exported variables by themselves.
 */
export function startCommand(id: string, takesInput: boolean): string {
  const start = (shell: string): string =>
    [
      "exec sh -c",
      ...[START, "hermes-job", id, takesInput ? "1" : "0", shell, KEEPER, JOB].map(quoteWord),
    ].join(" ");
  const definitions = "builtin unset -f __h_dump; builtin declare -f; builtin alias -p; command cat";
  return `if [ -n "$BASHPID" ]; then builtin eval ${quoteWord(`builtin ${start("bash")} < <(${definitions})`)}; else ${start("sh")}; fi`;
}

/** A program with its fields, apart from whatever functions and aliases the shell has. */
export function controlCommand(program: string, fields: readonly (string | number)[]): string {
  return ["exec sh -c", ...[program, "hermes-job", ...fields].map((field) => quoteWord(String(field)))].join(
    " ",
  );
}

/**
 * Fields, for each job: ID FOLDER KILLED BOOT PID TIME KEEPER-PID KEEPER-TIME. Prints ID and `running`, `exited CODE` or
 * `gone`. The keeper writes before it ends, so the file is looked for after the processes. The exit of a job that is
 * being killed says nothing of those that outlive it.
 */
export const OBSERVE = `
boot=; read -r boot </proc/sys/kernel/random/boot_id
alive() {
  [ "$1" = "$boot" ] || return 1
  line=; { IFS= read -r line <"/proc/$2/stat"; } 2>/dev/null || return 1
  time=$3
  set -- \${line##*) }
  case $1 in Z | X) return 1 ;; esac
  shift 19
  [ "$1" = "$time" ]
}
while [ $# -ge 8 ]; do
  state=gone
  if alive "$4" "$5" "$6" || alive "$4" "$7" "$8"; then state=running; fi
  code=
  [ "$3" = 1 ] || [ ! -f "$2/exit" ] || read -r code <"$2/exit"
  [ -z "$code" ] || state="exited $code"
  printf '%s %s\\n' "$1" "$state"
  shift 8
done
`;

/** Field: ID. Prints the rows that \`parseProcessRow\` reads; marked are those that carry the id. */
export const PROCESSES = `
id=$1
row() { printf '%s %s %s %s %s %s %s %s\\n' "$1" "$5" "$6" "$7" "\${23}" "$4" "$2" "$3"; }
for d in /proc/[0-9]*; do
  line=; { IFS= read -r line <"$d/stat"; } || continue
  marked=0
  while IFS= read -r entry || [ -n "$entry" ]; do
    case $entry in *"HERMES_COMMAND_ID=$id"*) marked=1 ;; esac
  done <"$d/environ"
  user=?
  while read -r key value rest; do
    case $key in Uid:) user=$value; break ;; esac
  done <"$d/status"
  row "\${d#/proc/}" "$user" "$marked" \${line##*) }
done 2>/dev/null
echo .
`;

/** Fields: SIGNAL, then PID TIME for each. Only processes that still are the ones meant get it. */
export const SIGNAL = `
signal=$1
shift
signal_one() {
  line=; { IFS= read -r line <"/proc/$1/stat"; } 2>/dev/null || return 0
  pid=$1 time=$2
  set -- \${line##*) }
  shift 19
  [ "$1" != "$time" ] || kill "-$signal" "$pid" 2>/dev/null
}
while [ $# -ge 2 ]; do
  signal_one "$1" "$2"
  shift 2
done
:
`;

/** Fields: FOLDER BYTES. Prints the end of the output. */
export const TAIL = `tail -c "$2" "$1/out"`;

/**
 * Fields: FOLDER OFFSET LIMIT BYTES; without OFFSET the last lines. Prints the number of lines, of bytes, and the lines.
 * What is printed meanwhile is left out, so that the numbers fit.
 */
export const LOG = `
size=$(wc -c <"$1/out") || exit 1
lines=$(head -c "$size" "$1/out" | wc -l)
[ "$size" -eq 0 ] || [ "$(head -c "$size" "$1/out" | tail -c 1 | wc -l)" -eq 1 ] || lines=$((lines + 1))
printf '%s %s\\n' "$((lines))" "$((size))"
if [ -z "$2" ]; then
  head -c "$size" "$1/out" | tail -n "$3" | tail -c "$4"
else
  head -c "$size" "$1/out" | tail -n "+$(($2 + 1))" | head -n "$3" | head -c "$4"
fi
:
`;

/** Field: FOLDER; input: what to write. A FIFO that is opened for both does not wait for its reader. */
export const WRITE = `
[ -p "$1/in" ] || { echo no-input; exit; }
[ ! -e "$1/closed" ] || { echo closed; exit; }
exec 3<>"$1/in" && cat >&3 && echo written
`;

/** Field: FOLDER. */
export const CLOSE = `
[ -p "$1/in" ] || { echo no-input; exit; }
[ ! -e "$1/closed" ] || { echo closed; exit; }
: >"$1/closed" && exec 3<>"$1/close" && echo >&3 && echo written
`;

/** Fields: folders of jobs that nobody remembers. */
export const REMOVE = `rm -rf -- "$@"`;
