import { escapeLine, quoteWord } from "./quote.ts";

/** Variables that a shell sets by itself, and the one that marks a command: no part of the state. */
const VOLATILE = "HERMES_COMMAND_ID PWD OLDPWD SHLVL _";

/**
 * The shell program at the far end of a channel. It reads snippets from its standard input and never waits for a
 * command itself, a wrapper does: so it hears us at any moment, and when its input ends, its owner is gone and it ends
 * the command that still runs. Verbs, each a snippet from us:
 *
 *   R …                  run a command in a process group of its own (fields below)
 *   L …                  the same with the rest of our input as its input, and then exit
 *   P TOKEN MARK         print the process table
 *   V TOKEN [PID START]  say whether the wrapper is alive, or that process of another channel
 *   E TOKEN PID START    tell the holder of another channel that its command's input is complete
 *   G MARK PID START     end this command, if it still runs, when our owner is gone; PID is missing until it is known
 *
 * After L our input belongs to the command, so nothing else may be sent down this channel: a second channel asks V, E and
 * P about it. A holder keeps the write end of the command's input open until E says that the input is complete. If our
 * owner is killed, the command therefore blocks instead of seeing a truncated input, until the second channel kills it.
 *
 * `__h_stamp`, where the prelude sets it, is a file that it touches when it ends: the time of last use.
 *
 * Answers are TOKEN, a letter, fields and a semicolon, each in one write that is small enough to be atomic, so they may
 * stand anywhere in the output of a command: S pid and start time, B (bad folder), I pid and start time of the holder,
 * D (all input has been passed on), X code (ended), C held, p row, v (alive), e (holder told).
 * The state that a command leaves (folder, exported variables, in bash functions and aliases) stands between two
 * state tokens. A command can learn that token, but not the other one.
 *
 * Below the verbs there are only builtins: when the process limit is reached nothing can be forked, and yet a command
 * must be ended. `b` stands before those that a person's own functions may shadow.
 */
function verbs(b: string): string {
  return `
__h_wrapper= __h_marks= __h_guarded= __h_last=0
P() {
  for __d in /proc/[0-9]*; do
    __l=; { IFS= ${b}read -r __l < "$__d/stat"; } 2>/dev/null || continue
    __m=0
    while IFS= ${b}read -r __e || [ -n "$__e" ]; do
      case $__e in *"HERMES_COMMAND_ID=$2"*) __m=1 ;; esac
    done 2>/dev/null < "$__d/environ"
    __u=?
    while ${b}read -r __k __v __e; do
      case $__k in Uid:) __u=$__v; break ;; esac
    done 2>/dev/null < "$__d/status"
    __h_row "$1" "\${__d#/proc/}" "$__u" "$__m" \${__l##*) }
  done 2>/dev/null
  ${b}printf '%s.;' "$1"
}
__h_row() { ${b}printf '%sp%s %s %s %s %s %s %s %s;' "$1" "$2" "$6" "$7" "$8" "\${24}" "$5" "$3" "$4"; }
# One that was killed stays as a zombie, because we wait for nobody.
__h_alive() {
  ${b}kill -0 "$1" 2>/dev/null || return 1
  __l=; { IFS= ${b}read -r __l < "/proc/$1/stat"; } 2>/dev/null
  [ -n "$__l" ] || [ ! -e /proc/1 ] || return 1
  case \${__l##*) } in Z*) return 1 ;; esac
}
# Pids are used again: only a child of ours can be our wrapper, and a stranger must never be taken for it.
__h_waits() {
  __h_alive "$__h_wrapper" || return 1
  [ -n "$__l" ] || return 0
  set -- \${__l##*) }
  [ "$2" = "$$" ]
}
# Whether this very process is alive, and not another one that was given its pid.
__h_is() {
  __h_alive "$1" || return 1
  __v=$2
  [ -n "$__l" ] || return 0
  set -- \${__l##*) }
  [ "\${20}" = "$__v" ]
}
V() {
  if [ -n "$2" ]; then __h_is "$2" "$3"; else __h_waits; fi && ${b}printf '%sv;' "$1"
  ${b}printf '%s.;' "$1"
}
E() {
  __h_is "$2" "$3" && ${b}kill -USR1 "$2" 2>/dev/null && ${b}printf '%se;' "$1"
  ${b}printf '%s.;' "$1"
}
G() {
  __h_wrapper= __h_marks=$1 __h_guarded= __h_since=$3
  case $2 in '' | 0 | 1) ;; *) __h_guarded=$2 ;; esac
}
# Whether a process besides ours has our output open and could print into the next command's frame, or the command has
# killed the driver or its parent, with which the transport ends. Only processes that are younger than the command can have got the output. The kernel says which pid
# it gave out last, so those can be counted up to; where pids have wrapped, all are looked at.
__h_held() {
  ${b}kill -0 "$$" 2>/dev/null && ${b}kill -0 "$PPID" 2>/dev/null || return 0
  ${b}kill -0 "-$1" 2>/dev/null && return 0
  __l=; { IFS= ${b}read -r __l < /proc/loadavg; } 2>/dev/null
  __l=\${__l##* }
  if [ "\${__l:-0}" -ge "$1" ] 2>/dev/null && [ "$1" -gt "$2" ] && [ "$((__l - $1))" -lt 500 ]; then
    __p=$1
    while [ "$__p" -lt "$__l" ]; do
      __p=$((__p + 1))
      __h_holds "$__p" && return 0
    done
    return 1
  fi
  for __d in /proc/[0-9]*; do
    [ "\${__d#/proc/}" = "$2" ] || ! __h_holds "\${__d#/proc/}" || return 0
  done
  return 1
}
# A thread has a number too, and the files of its process, which may be our own reader.
__h_holds() {
  [ "$1" != "$$" ] && [ -d "/proc/$1/fd" ] || return 1
  __v=
  while ${b}read -r __k __v __e; do
    case $__k in Tgid:) break ;; esac
  done 2>/dev/null < "/proc/$1/status"
  [ "$__v" = "$1" ] || return 1
  for __f in "/proc/$1/fd"/*; do
    [ "$__f" -ef /proc/self/fd/1 ] || [ "$__f" -ef /proc/self/fd/8 ] && return 0
  done 2>/dev/null
  return 1
}
# Whether the command still runs: what one that ended by itself has left behind lives on. A wrapper without a child is
# about to start the command or has seen its end, and soon shows which.
__h_runs() {
  if [ -z "$__h_wrapper" ]; then
    [ -n "$__h_marks" ] || return 1
    [ -n "$__h_guarded" ] || return 0 # a bare return has another meaning in a trap
    __h_is "$__h_guarded" "$__h_since" || return 1
    return 0
  fi
  while __h_waits; do
    [ -e /proc/1 ] || return 0
    for __d in /proc/[0-9]*; do
      __l=; { IFS= ${b}read -r __l < "$__d/stat"; } 2>/dev/null || continue
      set -- \${__l##*) }
      case $1 in Z*) ;; *) [ "$2" != "$__h_wrapper" ] || return 0 ;; esac
    done 2>/dev/null
  done
  return 1
}
# Halts the command's processes, each as soon as it is found, so that none can start another one meanwhile.
__h_halt() {
  for __p in $__tree; do ${b}kill -STOP "$__p"; done 2>/dev/null
  __grown=1
  while [ "$__grown" = 1 ]; do
    __grown=0
    for __d in /proc/[0-9]*; do
      __p=\${__d#/proc/}
      case $__tree in *" $__p "*) continue ;; esac
      __l=; { IFS= ${b}read -r __l < "$__d/stat"; } 2>/dev/null || continue
      set -- \${__l##*) }
      __mine=0
      case $__tree in *" $2 "*|*" $3 "*|*" $4 "*) __mine=1 ;; esac
      for __m in $__h_marks; do
        while IFS= ${b}read -r __e || [ -n "$__e" ]; do
          case $__e in *"HERMES_COMMAND_ID=$__m"*) __mine=1 ;; esac
        done 2>/dev/null < "$__d/environ"
      done
      [ "$__mine" = 1 ] && __tree="$__tree$__p " && __grown=1 && ${b}kill -STOP "$__p"
    done 2>/dev/null
  done
}
__h_lives() { for __p in $__tree; do __h_alive "$__p" && return 0; done; return 1; }
# TERM lets them tidy up, KILL follows a second later. All are halted until all have their signal: one that sees another die
# must not go on as if that had done its work.
__h_end() {
  __tree=" $__h_wrapper $__h_guarded "
  __h_halt
  for __s in TERM CONT; do
    for __p in $__tree; do ${b}kill "-$__s" "$__p"; done
  done 2>/dev/null
  for __n in 1 2 3 4 5 6 7 8 9 10; do
    __h_lives && sleep 0.1 2>/dev/null || break
  done
  __h_halt
  for __p in $__tree; do ${b}kill -KILL "$__p"; done 2>/dev/null
}
# A command that ends its shell by \`$$\` hits us, because it was forked from us: it has ended as a shell of its own would have.
${b}trap '${b}exit 129' HUP
${b}trap '${b}exit 130' INT
${b}trap '${b}exit 143' TERM
${b}trap '${b}trap - EXIT; [ -z "$__h_stamp" ] || : > "$__h_stamp"; ! __h_runs || __h_end' EXIT
# Passes our input on to the command with the token $1. What the command does not read is dropped: some transports lose the
# last output when they cannot deliver their input.
__h_feed() {
  cat 2>/dev/null
  exec >/dev/null
  cat
  ${b}printf '%sD;' "$1" >&4
}
# Holds the pipe that it is fed through open at both ends (5 reads, 6 writes).
__h_hold() {
  __h_last=1
  if [ -e /proc/self/fd ]; then
    exec 5<&0 6>/proc/self/fd/0
  else
    __f=\${TMPDIR:-/tmp}/hermes-input-$$
    mkfifo -m 600 "$__f" && exec 6<>"$__f" 5<"$__f" 6>"$__f"
    rm -f "$__f"
    cat <&0 >&6 2>/dev/null 5<&- &
  fi
  exec </dev/null
}
# Keeps the write end open until E; the end of our own input alone may mean that our owner was killed.
__h_await() {
  exec 5<&-
  ${b}trap 'exec 6>&-' USR1
  __t=$1 __l=; { IFS= ${b}read -r __l < /proc/self/stat; } 2>/dev/null
  if [ -n "$__l" ]; then
    set -- \${__l##*) }
    ${b}printf '%sI%s %s;' "$__t" "\${__l%% *}" "\${20}"
  else
    ${b}printf '%sI%s ;' "$__t" "$(exec sh -c 'echo $PPID')"
  fi
  while ${b}kill -0 "$__h_wrapper"; do ${b}wait "$__h_wrapper"; done 2>/dev/null
}
`;
}

/**
 * The fields of R and L are variables here, and R and L are texts to evaluate: a command that ran inside a function would
 * have its errors named after that function's file and counted from its line. The command is forked: nothing is started.
 */
const BASH = `
set +o history
set --
shopt -s expand_aliases
${verbs("builtin ")}
__h_dump() {
  [ /proc/self/fd/1 -ef /proc/$$/fd/1 ] || { [ ! -e /proc/$$ ] && [ -p /dev/fd/1 ]; } || return 0
  builtin unset ${VOLATILE} __h_command $3
  builtin unset -f __h_dump
  builtin printf '%s%s' "$1" "$2"
  builtin pwd -P 2>/dev/null && { builtin export -p; builtin declare -f; builtin alias -p; }
  builtin printf '%s%s' "$1" "$2"
}
__h_started() { builtin printf '%sS%s %s;' "$1" "$2" "\${22}"; }
__h_open() {
  exec 8>&2 2>/dev/null
  if [ "$__h_last" = 1 ]; then exec 7<&5 5<&- 6>&-; elif [ -n "$__h_input" ]; then exec 7< <(builtin printf "$__h_input"); else exec 7</dev/null; fi
  set -m
}
__h_begin() {
  set +m
  exec 7<&- 8>&-
  __l=; { IFS= builtin read -r __l < /proc/self/stat; } 2>/dev/null
  __h_started "$__h_token" "$BASHPID" \${__l##*) }
  case $__h_cwd in "~") __h_cwd=$HOME ;; "~/"*) __h_cwd=$HOME/\${__h_cwd#??} ;; esac
  builtin cd -- "$__h_cwd" 2>/dev/null || { builtin printf '%sB;' "$__h_token"; builtin exit 126; }
  builtin unset -f P V E G __h_row __h_alive __h_waits __h_is __h_held __h_holds __h_runs __h_halt __h_lives __h_end __h_feed __h_hold __h_await
  builtin unset -f __h_started __h_open __h_begin __h_close
  builtin eval "$__h_setup" 2>/dev/null
  export HERMES_COMMAND_ID=$__h_mark
  builtin trap "__h_dump $__h_state '$__h_drop'" EXIT # two halves of the token: not even trap or set may print it whole
  [ "$__h_merge" = 1 ] && exec 2>&1
  builtin unset __h_token __h_mark __h_state __h_merge __h_drop __h_cwd __h_setup __h_input __h_R __h_L __h_line
}
__h_close() {
  set +m
  exec 7<&-
  builtin wait $1; __c=$?
  builtin printf '%sX%s;' "$__h_token" "$__c"
  builtin printf '%sX;' "$__h_token" >&8
  __h_held $1 $BASHPID && __c=1 || __c=0
  builtin printf '%sC%s;' "$__h_token" "$__c"
}
__h_R='{ __h_open; ( __h_begin; builtin eval "$__h_command" ) <&7 2>&8 & __h_close "$!"; } & __h_wrapper=$! __h_marks=$__h_mark __h_guarded='
__h_L='{ __h_feed "$__h_token" | { __h_hold; eval "$__h_R"; __h_await "$__h_token"; } 4>&-; } 4>&1; exit'
`;

/** What the fresh shell of a command runs first. On one line, because some shells count a command's lines from there. */
const SH_COMMAND = oneLine(`
__h_started() { printf "%sS%s %s;" "$1" "$2" "\${22}"; };
__h_go() {
  __l=; { IFS= read -r __l < /proc/self/stat; } 2>/dev/null;
  __h_started "$1" "$$" \${__l##*) };
  case $6 in "~") __h_cwd=$HOME ;; "~/"*) __h_cwd=$HOME/\${6#??} ;; *) __h_cwd=$6 ;; esac;
  cd -- "$__h_cwd" 2>/dev/null || { printf "%sB;" "$1"; exit 126; };
  unset __h_cwd;
  eval "$7" 2>/dev/null;
  export HERMES_COMMAND_ID=$2;
  __h_state=$3 __h_drop=$5 __h_command=$8;
  trap __h_dump EXIT;
  [ "$4" = 1 ] && exec 2>&1;
  set --;
  eval "$__h_command";
};
__h_dump() {
  [ /proc/self/fd/1 -ef "/proc/$__h_driver/fd/1" ] || { [ ! -e "/proc/$__h_driver" ] && [ -p /dev/fd/1 ]; } || return 0;
  unset ${VOLATILE} $__h_drop;
  printf "%s%s" $__h_state;
  pwd -P 2>/dev/null && export -p;
  printf "%s%s" $__h_state;
};
`);

/**
 * Fields of R and L: TOKEN MARK PROGRAM. Other shells cannot make a group, so a fresh one is started in a session of its
 * own. Its program comes through a pipe: an argument holds at most 128 KiB, and others could read it.
 */
const SH = `
${verbs("")}
__h_session=
command -v setsid >/dev/null 2>&1 && __h_session=setsid
__h_inner='${SH_COMMAND}'
__h_run() {
  exec 8>&2 2>/dev/null
  if [ "$__h_last" = 1 ]; then exec 7<&5 5<&- 6>&-; else exec 7</dev/null; fi
  printf '%s __h_driver=%s; %s\\n' "$__h_inner" "$$" "$3" | $__h_session sh 2>&8 8>&- &
  __p=$!
  exec 7<&-
  wait $__p; __c=$?
  printf '%sX%s;' "$1" "$__c"
  printf '%sX;' "$1" >&8
  __h_held $__p 0 && __c=1 || __c=0
  printf '%sC%s;' "$1" "$__c"
}
R() { __h_run "$@" & __h_wrapper=$! __h_marks=$2 __h_guarded=; }
L() { { __h_feed "$1" | { __h_hold; R "$@"; __h_await "$1"; } 4>&-; } 4>&1; exit; }
`;

/** Joins lines that each end where a shell allows a blank. */
function oneLine(text: string): string {
  return text
    .trim()
    .split("\n")
    .map((line) => line.trim())
    .join(" ");
}

/**
 * Starts whatever shell the place has. It stays the child of another one, so that a command that kills its `$PPID` does
 * not hit us; `hermes-channel` in the arguments is the sign that somebody holds the place.
 */
export const SHELL_ARGUMENTS = [
  "-c",
  "if command -v bash >/dev/null 2>&1; then bash --noprofile --norc -s hermes-channel; else sh -s hermes-channel; fi; exit $?",
  "hermes-channel",
] as const;

/**
 * The driver as one snippet. It first shows, between two state tokens, what a command will find, and then answers
 * `hello` with H and the name of its shell; on its other output with E, so that nothing a login file printed there can
 * come after it.
 *
 * For bash it is one line, after which bash reads our snippets itself: its parser counts lines, so a command that it
 * parsed would not begin at line 1. To other shells the line with bash's driver is a comment, in effect.
 */
export function driverProgram(hello: string, stateToken: string, prelude: string): string {
  // A person's init files may print, change options or set traps: silence them and put right what the driver needs.
  const prepare =
    prelude === ""
      ? ""
      : `__h_path=$PATH; { ${prelude}\n} </dev/null >/dev/null 2>&1; set +efu; unset IFS; ${KEEP_PATH}; unset __h_path;`;
  const begin = (dump: string): string =>
    `(unset ${VOLATILE}; printf %s ${stateToken}; pwd -P; ${dump}; printf %s ${stateToken});`;
  const greet = (shell: string): string =>
    `printf '%s' ${quoteWord(`${hello}E;`)} >&2; printf '%s' ${quoteWord(`${hello}H${shell};`)}`;
  const bash = [prepare, begin("export -p; declare -f; alias -p"), BASH, greet("bash")].join("\n");
  const sh = [prepare, begin("export -p"), SH, greet("sh")].join("\n");
  const drivers = `: $'${escapeLine(bash)}'\neval "$(printf '${escapeLine(sh).replaceAll("%", "%%")}')"\n`;
  const start = [
    'if [ -n "$BASHPID" ]; then',
    `${readAtOnce(drivers)}; __h_line=\${__h_line%%$'\\n'*}; eval "eval \${__h_line#: }";`,
    'while IFS= builtin read -r __h_line; do eval "$__h_line"; done;',
    "exit; fi\n",
  ];
  return start.join(" ") + drivers;
}

/** Makes bash read a text that follows in few steps: up to the end of a line it would take one for each byte. */
function readAtOnce(text: string): string {
  return `LC_ALL=C builtin read -r -N ${Buffer.byteLength(text)} __h_line`;
}

/** An init file that sets PATH anew must not make tools vanish that were there before. */
const KEEP_PATH = 'case ":$PATH:" in *":$__h_path:"*) ;; *) PATH=$PATH:$__h_path ;; esac';

/** What R and L are told; all of it is text for the far end, none of it for our own machine. */
export interface RunFields {
  readonly token: string;
  readonly mark: string;
  readonly stateToken: string;
  readonly mergeStderr: boolean;
  /** Variables of this command alone, left out of the state it leaves. */
  readonly drop: readonly string[];
  readonly cwd: string;
  /** Shell text that brings the state back: exports, functions, aliases. */
  readonly setup: string;
  /** Format for the builtin printf that makes the command's input; empty for no input. */
  readonly input: string;
  readonly command: string;
}

/** The snippet that starts a command; `last` hands it the rest of the channel's input. */
export function runSnippet(shell: "bash" | "sh", last: boolean, fields: RunFields): string {
  const { token, mark, stateToken, mergeStderr, drop, cwd, setup, input, command } = fields;
  const state = `${stateToken.slice(0, 8)} ${stateToken.slice(8)}`;
  const merge = mergeStderr ? "1" : "0";
  if (shell === "sh") {
    const go = [
      "__h_go",
      ...[token, mark, state, merge, drop.join(" "), cwd, setup, command].map(quoteWord),
    ].join(" ");
    const program = input === "" ? `${go} <&7 7<&-` : `exec 7<&-; printf ${quoteWord(input)} | ${go}`;
    return `${last ? "L" : "R"} ${[token, mark, program].map(quoteWord).join(" ")}\n`;
  }
  const values = { token, mark, state, merge, drop: drop.join(" "), cwd, setup, input, command };
  const assignments = Object.entries(values).map(([name, value]) => `__h_${name}=$'${escapeLine(value)}'`);
  const run = `${assignments.join(" ")}; eval "$__h_${last ? "L" : "R"}"\n`;
  return `${readAtOnce(run)}; eval "$__h_line"\n${run}`;
}
