import { quoteWord } from "../channel/quote.ts";
import type { JobInput } from "./job.ts";
import { COLLECT } from "./output-programs.ts";

/**
 * Shell programs, for any POSIX sh, that start and inspect a job. A job consists of two processes, each in its own session:
 *
 *   keeper   starts the job, waits for it and records its exit code; it survives a job that kills its own process group
 *   job      the shell that runs the command; its output goes to a pipe, its input is a FIFO or /dev/null
 *
 * A third process moves the output from the pipe into files. If the job takes input, a fourth process holds the FIFO open
 * until it reads a line from `close`; only then does the job see the end of its input. A job on a terminal runs below
 * `script`, which connects the terminal with the FIFO and the pipe. All processes have the job's id as HERMES_COMMAND_ID.
 * The folder of a job is private to its user. It holds the output, `exit` after the end, `in`, `close` and `closed` if the
 * job takes input, and in `terminal` the name of its terminal.
 *
 * A shell starts background processes with INT and QUIT ignored, and most shells cannot reset that: Ctrl-C would do
 * nothing. So another program (env, perl or python3) resets the signals and then executes the job.
 */

const TERMINAL_ROWS = 30;
const TERMINAL_COLUMNS = 120;

const RUN = `
[ -z "$BASH_VERSION" ] || shopt -s expand_aliases
__j=\${__j%.}
set --
eval "$__j"
`;

/** Fields: INPUT UMASK. The command is read completely from stdin before it runs, so that no argument shows it. */
const JOB = `
__j=$(cat; echo .)
exec <"$1"
umask "$2"
echo ready >&8
exec 8>&-
${RUN}`;

/** Fields: FOLDER UMASK. The same on a terminal; the command comes through a FIFO instead of stdin. */
const TERMINAL_JOB = `
__j=$(cat <"$1/hello"; echo .)
stty rows ${TERMINAL_ROWS} cols ${TERMINAL_COLUMNS}
readlink /proc/self/fd/0 >"$1/terminal"
umask "$2"
echo ready >"$1/hello"
${RUN}`;

/** The command that `script` runs, with SHELL=/bin/sh because `script` would use the user's shell; restores SHELL. */
const IN_SCRIPT = `folder=$HERMES_PTY_FOLDER mask=$HERMES_PTY_UMASK job=$HERMES_PTY_JOB shell=$HERMES_PTY_SHELL
if [ -n "$HERMES_PTY_WAS" ]; then SHELL=$HERMES_PTY_WAS; else unset SHELL; fi
unset HERMES_PTY_FOLDER HERMES_PTY_UMASK HERMES_PTY_JOB HERMES_PTY_SHELL HERMES_PTY_WAS
exec "$shell" -c "$job" hermes-job "$folder" "$mask"`;

/** Resets INT and QUIT and executes its arguments. `env --default-signal` exists in coreutils since 2019. */
const RESET_SIGNALS = `
heed_signals() {
  ! env --default-signal=INT,QUIT true >/dev/null 2>&1 || exec env --default-signal=INT,QUIT "$@"
  ! command -v perl >/dev/null || exec perl -e '$SIG{INT} = $SIG{QUIT} = "DEFAULT"; exec { $ARGV[0] } @ARGV' "$@"
  ! command -v python3 >/dev/null || exec python3 -c 'import os, signal, sys
for number in (signal.SIGINT, signal.SIGQUIT): signal.signal(number, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])' "$@"
  exec "$@"
}
`;

/** Fields: FOLDER SHELL INPUT UMASK. Prints pid and start time of the job and of itself, and the boot id. */
const KEEPER = `${RESET_SIGNALS}
exec 8>&1 >/dev/null
input=/dev/null holder= greeter=
if [ "$3" != none ]; then
  mkfifo "$1/in" "$1/close" || exit 1
  input=$1/in
  ( exec 8>&- 2>/dev/null; read -r _ <&6 ) </dev/null 6<>"$1/close" 7<>"$1/in" &
  holder=$!
fi
mkfifo "$1/pipe" || exit 1
exec 9<&0 </dev/null
# Ignores TERM, because output after TERM is kept too.
( trap '' TERM; exec sh -c ${quoteWord(COLLECT)} hermes-job "$1" ) 8>&- 9<&- <"$1/pipe" 2>/dev/null &
oom_kills() {
  kills=0 counter=
  while IFS=: read -r number kind path; do
    case $number:$kind in 0:) counter=$path/memory.events ;; *:memory) counter=/memory$path/memory.oom_control; break ;; esac
  done </proc/self/cgroup
  for file in "/sys/fs/cgroup$counter" /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
    [ -r "$file" ] || continue
    while read -r key value; do [ "$key" != oom_kill ] || kills=$value; done <"$file"
    return
  done
}
oom_kills
before=$kills
if [ "$3" = terminal ]; then
  mkfifo "$1/hello" || exit 1
  (
    export HERMES_PTY_FOLDER="$1" HERMES_PTY_UMASK="$4" HERMES_PTY_SHELL="$2" HERMES_PTY_WAS="$SHELL" SHELL=/bin/sh \\
      HERMES_PTY_JOB=${quoteWord(TERMINAL_JOB)} TERM="\${TERM:-xterm-256color}"
    heed_signals setsid script -q -f -e -c ${quoteWord(IN_SCRIPT)} /dev/null
  ) 8>&- 9<&- <"$input" >"$1/pipe" 2>&1 &
  job=$!
  ( cat 8>&- <&9 >"$1/hello" && read -r word <"$1/hello" && echo "$word" >&8 ) &
  greeter=$!
else
  ( heed_signals setsid "$2" -c ${quoteWord(JOB)} hermes-job "$input" "$4" ) <&9 9<&- >"$1/pipe" 2>&1 &
  job=$!
fi
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
code=$?
# After a failed start, the greeter still waits at the FIFO.
[ -z "$greeter" ] || { kill "$greeter"; : <>"$1/hello"; }
# The output is drained within a second, unless descendants that outlived the job still hold the pipe.
tries=0
until [ -e "$1/drained" ] || [ "$tries" -ge 20 ]; do tries=$((tries + 1)); sleep 0.05 || sleep 1; done
if [ "$code" -eq 137 ]; then oom_kills; [ "$kills" -le "$before" ] || code="$code oom"; fi
printf '%s\\n' "$code" >"$1/exit"
[ -z "$holder" ] || kill "$holder"
`;

/** Fields: ID INPUT SHELL; stdin: the command. Prints `failed` and the reason, or input, processes, folder and cwd. */
const START = `
mask=$(umask)
umask 077
fail() { printf 'failed %s\\n' "$1"; [ -z "$dir" ] || rm -rf "$dir"; exit 1; }
dir=
[ -r /proc/self/stat ] || fail 'there is no /proc'
for tool in setsid mkfifo dd; do command -v $tool >/dev/null 2>&1 || fail "there is no $tool"; done
for base in "\${TMPDIR:-/tmp}" /tmp /dev/shm; do
  case $base in /*) ;; *) continue ;; esac
  root=$base/hermes-jobs-$(id -u)
  mkdir "$root" 2>/dev/null
  [ -d "$root" ] && [ ! -L "$root" ] && [ -O "$root" ] && chmod 700 "$root" || continue
  mkdir "$root/$1" 2>/dev/null && dir=$root/$1 && break
done
[ -n "$dir" ] || fail 'the folder for its output cannot be created in TMPDIR, /tmp or /dev/shm'
(: >"$dir/err") 2>/dev/null || fail 'its output file cannot be created'
input=$2
[ "$input" != terminal ] || case "$(script --version 2>/dev/null; command -v stty)" in
  *util-linux*/*) ;;
  *) input=pipe ;;
esac
exec 9<&0 </dev/null
reply=$(HERMES_COMMAND_ID=$1 HERMES_JOB_ID=$1 PYTHONUNBUFFERED=1 \\
  setsid sh -c ${quoteWord(KEEPER)} hermes-job "$dir" "$3" "$input" "$mask" <&9 9<&- 2>>"$dir/err" &)
case $reply in
  *ready*) ;;
  *)
    tries=0
    until [ -e "$dir/drained" ] || [ "$tries" -ge 20 ]; do tries=$((tries + 1)); sleep 0.05 || sleep 1; done
    fail "$(cat "$dir/err" "$dir"/out.* 2>/dev/null | head -c 1000)"
    ;;
esac
printf 'input %s\\n%s\\n%s\\n' "$input" "$reply" "$dir"
pwd -P
`;

/**
 * The command that starts a job from a session's shell. It uses `exec`, so that the state of the session stays unchanged.
 * Functions and aliases of bash are passed as text; exported variables are inherited.
 */
export function startCommand(id: string, input: JobInput): string {
  const start = (shell: string): string =>
    ["exec sh -c", ...[START, "hermes-job", id, input, shell].map(quoteWord)].join(" ");
  const definitions = "builtin unset -f __h_dump; builtin declare -f; builtin alias -p; command cat";
  return `if [ -n "$BASHPID" ]; then builtin eval ${quoteWord(`builtin ${start("bash")} < <(${definitions})`)}; else ${start("sh")}; fi`;
}

/** A program with its fields, independent of the shell's functions and aliases. */
export function controlCommand(program: string, fields: readonly (string | number)[]): string {
  return ["exec sh -c", ...[program, "hermes-job", ...fields].map((field) => quoteWord(String(field)))].join(
    " ",
  );
}

/**
 * Fields, for each job: ID FOLDER KILLED BOOT PID TIME KEEPER-PID KEEPER-TIME. Prints ID and `running`, `exited CODE` (with
 * `oom` appended if memory ran out) or `gone`. The keeper writes `exit` before it exits, so the file is read after the
 * processes are checked. The exit code of a job that is being killed is ignored, because descendants may outlive it.
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

/**
 * Fields: ID SINCE. Prints rows for \`parseProcessRow\`; processes with the id in their environment are marked. Processes
 * older than the job are not checked: most shells read byte by byte, and a machine has hundreds of processes.
 */
export const PROCESSES = `
id=$1 since=$2
is_young() { [ "\${20}" -ge "$since" ]; }
row() { printf '%s %s %s %s %s %s %s %s\\n' "$1" "$5" "$6" "$7" "\${23}" "$4" "$2" "$3"; }
for d in /proc/[0-9]*; do
  line=; { IFS= read -r line <"$d/stat"; } || continue
  marked=0
  ! is_young \${line##*) } || while IFS= read -r entry || [ -n "$entry" ]; do
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

/** Fields: SIGNAL, then PID TIME for each process. A process with another start time is not signalled. */
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

/** Field: FOLDER; stdin: the bytes to write. Opening a FIFO for reading and writing does not wait for its reader. */
export const WRITE = `
[ -p "$1/in" ] || { echo no-input; exit; }
[ ! -e "$1/closed" ] || { echo closed; exit; }
exec 3<>"$1/in" && cat >&3 && echo written
`;

/**
 * Fields: ID, then PID TIME for each process, as the process namespace of the job numbers them. Prints their process ids
 * here, or 0. The start time is the same in all namespaces.
 */
export const LOCATE = `
id=$1
shift
is_wanted() { [ "\${20}" = "$time" ]; }
find_one() {
  pid=$1 time=$2
  for d in /proc/[0-9]*; do
    line=; { IFS= read -r line <"$d/stat"; } || continue
    is_wanted \${line##*) } || continue
    inner=
    while read -r key value; do
      case $key in NSpid:) inner=\${value##*[!0-9]} ;; esac
    done <"$d/status"
    [ "$inner" = "$pid" ] || continue
    while IFS= read -r entry || [ -n "$entry" ]; do
      case $entry in *"HERMES_JOB_ID=$id"*) echo "\${d#/proc/}"; return ;; esac
    done <"$d/environ"
  done 2>/dev/null
  echo 0
}
while [ $# -ge 2 ]; do
  find_one "$1" "$2"
  shift 2
done
`;

/**
 * Fields: FOLDER ROWS COLUMNS PID. Without PID, resizes the terminal that the job has recorded; with PID, the terminal of that
 * process's child, because a sandbox has its own terminals. If the size is unchanged, it is changed twice: the kernel notifies
 * programs only of a new size, and they must redraw for a viewer that has just attached.
 */
export const RESIZE = `
terminal=
if [ -z "$4" ]; then
  [ ! -f "$1/terminal" ] || read -r terminal <"$1/terminal"
else
  { read -r child rest <"/proc/$4/task/$4/children"; } 2>/dev/null
  [ -z "$child" ] || terminal=/proc/$child/fd/1
fi
[ -c "$terminal" ] || exit 0
[ "$(stty size <"$terminal")" != "$2 $3" ] || stty rows "$(($2 + 1))" <"$terminal"
stty rows "$2" cols "$3" <"$terminal"
`;

/** Field: FOLDER. */
export const CLOSE = `
[ -p "$1/in" ] || { echo no-input; exit; }
[ ! -e "$1/closed" ] || { echo closed; exit; }
: >"$1/closed" && exec 3<>"$1/close" && echo >&3 && echo written
`;

/** Fields: folders of jobs whose records were deleted. */
export const REMOVE = `rm -rf -- "$@"`;
