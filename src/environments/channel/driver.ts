import { escapeLine, quoteWord } from "./quote.ts";

/** Variables that are not part of the saved state: those that a shell sets by itself, and the mark of a command. */
const VOLATILE = "HERMES_COMMAND_ID PWD OLDPWD SHLVL _";

/**
 * The driver: the shell program that a channel runs in its environment. It reads snippets from standard input. A wrapper,
 * not the driver, waits for the command, so the driver can always read the next snippet. When standard input ends, the
 * owner process has exited, and the driver ends the running command. Verbs, each sent as a snippet:
 *
 *   R …                  run a command in its own process group; in bash, `prepareSnippet` has forked its shell
 *   L …                  like R, with the rest of the driver's input as the command's input; then exit
 *   P TOKEN MARK         print the process table
 *   V TOKEN [PID START]  report whether the wrapper, or that process of another channel, is alive
 *   E TOKEN PID START    signal the holder (below) of another channel that its command's input is complete
 *   G MARK PID START     end this command, if it still runs, when the owner process exits; PID is empty until it is known
 *
 * After L the driver's input belongs to the command, so no snippet may be sent on this channel: a second channel sends V, E
 * and P instead. A holder keeps the write end of the command's input open until E. If the owner process is killed, the
 * command therefore blocks instead of seeing a truncated input, until the second channel kills it.
 *
 * `__h_stamp`, if the prelude sets it, is a file that the driver touches when it exits: the time of last use.
 *
 * Answers are TOKEN, a letter, fields and a semicolon. Each is one write, small enough to be atomic, so answers may occur
 * anywhere in the output of a command.
 *
 *   once     H shell (started), and E on stderr
 *   R and L  S pid and start time, B (bad folder), X code (ended), and a second X, without the code, on stderr; then C, 1 if
 *            another process has the output open, else 0
 *   L        I pid and start time of the holder, D (all input was passed on)
 *   P, V, E  p row for each process, v (alive), e (holder signalled); each verb ends with a full stop as the letter
 *
 * The state of the shell after a command (folder, exported variables, in bash functions and aliases) is enclosed in two
 * state tokens. A command can learn the state token, but not TOKEN.
 *
 * The verbs use only builtins: at the process limit nothing can be forked, and yet a command must be ended. `b` precedes
 * builtins that the user's functions may shadow: `builtin ` in bash, nothing in other shells, which lack it.
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
# Whether the process runs. A zombie does not: the driver waits for no process, so a killed one stays a zombie.
__h_alive() {
  ${b}kill -0 "$1" 2>/dev/null || return 1
  __l=; { IFS= ${b}read -r __l < "/proc/$1/stat"; } 2>/dev/null
  [ -n "$__l" ] || [ ! -e /proc/1 ] || return 1
  case \${__l##*) } in Z*) return 1 ;; esac
}
# Whether the wrapper is alive. Pids are reused, so it must also be a child of the driver.
__h_waits() {
  __h_alive "$__h_wrapper" || return 1
  [ -n "$__l" ] || return 0
  set -- \${__l##*) }
  [ "$2" = "$$" ]
}
# Whether the process with this pid and start time is alive, as opposed to a later process with the same pid.
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
# Called by a wrapper whose command $1 has ended: whether the channel is used up. It is if another process has our output
# open and could print into the output of the next command, or if the command has killed the driver or its parent, which
# ends the transport.
# Only processes younger than the command can have our output open. The kernel shows the last pid, so their pids are tried
# one by one. If there are too many, or pids have wrapped, all processes that are not older than the wrapper are checked.
# Errors are not redirected here, because the wrapper has no stderr.
__h_output_leaked() {
  ${b}kill -0 "$$" && ${b}kill -0 "$PPID" || return 0
  ${b}kill -0 "-$1" && return 0
  __l=; IFS= ${b}read -r __l < /proc/loadavg
  __l=\${__l##* }
  if [ "\${__l:-0}" -ge "$1" ] && [ "$1" -gt "$2" ] && [ "$((__l - $1))" -lt 500 ]; then
    __p=$1
    while [ "$__p" -lt "$__l" ]; do
      __p=$((__p + 1))
      __h_has_output "$__p" && return 0
    done
    return 1
  fi
  __l=; IFS= ${b}read -r __l < /proc/self/stat
  __w=\${__l%% *}
  set -- \${__l##*) }
  __s=\${20}
  for __d in /proc/[0-9]*; do
    case \${__d#/proc/} in "$__w" | "$PPID") continue ;; esac
    __l=; IFS= ${b}read -r __l < "$__d/stat" || continue
    set -- \${__l##*) }
    [ "\${20}" -lt "$__s" ] || ! __h_has_output "\${__d#/proc/}" || return 0
  done
  return 1
}
# Whether the process has our output open. Skip threads: /proc/PID exists for them too and shows the files of their process,
# possibly the driver.
__h_has_output() {
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
# Whether the command still runs. Processes that it left behind do not count: they may survive. A wrapper without a child is
# about to start the command or has seen its end, so check again.
__h_runs() {
  if [ -z "$__h_wrapper" ]; then
    [ -n "$__h_marks" ] || return 1
    [ -n "$__h_guarded" ] || return 0 # in a trap, a bare return uses another status
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
# Stops each process of the command as soon as it is found, so that none can start another one.
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
# TERM allows a cleanup, KILL follows a second later. All stay stopped until all have the signal: none may see another die
# and continue as if it had finished.
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
# A command that kills \`$$\` hits the driver, from which it was forked: exit as the command's own shell would have.
${b}trap '${b}exit 129' HUP
${b}trap '${b}exit 130' INT
${b}trap '${b}exit 143' TERM
${b}trap '${b}trap - EXIT; [ -z "$__h_stamp" ] || : > "$__h_stamp"; ! __h_runs || __h_end' EXIT
# Passes the driver's input on to the command with the token $1. What the command does not read is read and dropped: some
# transports lose the last output if they cannot deliver their input.
__h_feed() {
  cat 2>/dev/null
  exec >/dev/null
  cat
  ${b}printf '%sD;' "$1" >&4
}
# Makes this process the holder: it has both ends of the command's input open, 5 to read and 6 to write.
__h_keep_input() {
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
# The holder keeps the write end open until E: the end of the driver's input alone may mean that the owner was killed.
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
 * In bash the wrapper and the command's shell are forks of the driver, so no program is started. Both are forked in advance
 * (`__h_prepare`). R passes the fields of the command through a pipe, as assignments on one line, and closes the pipe; only
 * then does the command begin. If the prepared shell exits while the pipe is still open, it got no command, so its wrapper
 * exits without an answer. R then fails, and `__h_now` forks another shell. The driver learns the token of a command only
 * when it prepares that command, so the shell of an earlier command cannot know it.
 *
 * `WRAPPER` is the text of the wrapper, for eval; see below.
 */
const WRAPPER = '__h_open; ( __h_begin; builtin eval "$__h_command" ) <&0 & __h_close "$!"';
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
# Descriptor 8 is the channel's stderr: in the driver, in the wrapper, and in the command's shell until the command begins.
__h_open() {
  if [ "$__h_last" = 1 ]; then exec 7<&5 5<&- 6>&-; elif [ "$__h_fed" != 1 ]; then exec 7</dev/null; fi
  __h_waiter=$BASHPID
  set -m
}
__h_started() { __h_start="\${__h_token}S$BASHPID \${20};"; }
# Reads the fields of a command up to the end of the pipe; \`read -N\` takes few system calls. If the final newline is
# missing, there is no command: the driver has exited, or does not need this shell.
__h_begin() {
  set +m
  __l=; IFS= builtin read -r __l < /proc/self/stat
  __h_started \${__l##*) }
  builtin unset -f P V E G R __h_row __h_alive __h_waits __h_is __h_output_leaked __h_has_output __h_runs __h_halt __h_lives __h_end __h_feed __h_keep_input __h_await
  builtin unset -f __h_open __h_started __h_begin __h_pass __h_close
  builtin unset __h_prepare __h_now __h_L __h_spare __h_fed __p __l
  builtin read -r -N 1000000000 __h_line
  case $__h_line in *$'\\n') ;; *) builtin kill -KILL "$__h_waiter"; builtin exit ;; esac
  builtin printf '%s' "$__h_start"
  builtin eval "$__h_line"
  case $__h_cwd in "~") __h_cwd=$HOME ;; "~/"*) __h_cwd=$HOME/\${__h_cwd#??} ;; esac
  builtin cd -- "$__h_cwd" || { builtin printf '%sB;' "$__h_token"; builtin exit 126; }
  builtin eval "$__h_setup"
  export HERMES_COMMAND_ID=$__h_mark
  # Switches tracing off for our own lines. The state token is stored in two halves, which trap and set never print joined.
  builtin trap "{ builtin set +x; } 2>/dev/null; __h_dump $__h_state '$__h_drop'" EXIT
  if [ "$__h_merge" = 1 ]; then exec <&7 7<&- 2>&1 8>&-; else exec <&7 7<&- 2>&8 8>&-; fi
  builtin unset __h_token __h_waiter __h_start __h_line __h_mark __h_state __h_merge __h_drop __h_cwd __h_setup
}
__h_close() {
  set +m
  exec 7<&-
  builtin wait $1; __c=$?
  builtin read -t 0 || builtin exit # the pipe is open and empty
  builtin printf '%sX%s;' "$__h_token" "$__c"
  builtin printf '%sX;' "$__h_token" >&8
  __h_output_leaked $1 $BASHPID && __c=1 || __c=0
  builtin printf '%sC%s;' "$__h_token" "$__c"
}
__h_pass() { builtin printf '%s' "$__h_line"; }
# With this trap, writing to a shell that has exited is an error of printf; otherwise the signal would end the driver.
builtin trap : PIPE
# Succeeds if the prepared shell has received the fields.
R() {
  LC_ALL=C builtin read -r -N "$1" __h_line
  __h_wrapper=$__h_spare __h_marks=$2 __h_guarded=
  __h_pass >&9
  set -- $?
  exec 9>&-
  return $1
}
# __h_prepare, __h_now and __h_L are texts for eval, not functions: a command that runs inside a function would report its
# errors with the file and line of that function. In old versions of bash, >() does not set $!, and nothing is prepared.
__h_prepare='__p=$!; exec 9> >(${WRAPPER}); __h_spare=$!; [ "$__p" != "$!" ] || exec 9>&-'
__h_now='__h_pass | { ${WRAPPER}; } & __h_wrapper=$!'
__h_L='{ __h_feed "$__h_token" | { __h_keep_input; eval "$__h_now"; __h_await "$__h_token"; } 4>&-; } 4>&1; exit'
`;

/** What the fresh shell of a command runs first: one line, because some shells count the command's lines from there. */
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
  trap "{ set +x; } 2>/dev/null; __h_dump" EXIT;
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
 * Fields of R and L in sh: TOKEN MARK PROGRAM. Shells other than bash cannot create a process group, so a fresh shell is
 * started in its own session. PROGRAM reaches it through a pipe: an argument is limited to 128 KiB and readable by other
 * users.
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
  __h_output_leaked $__p 0 && __c=1 || __c=0
  printf '%sC%s;' "$1" "$__c"
}
R() { __h_run "$@" & __h_wrapper=$! __h_marks=$2 __h_guarded=; }
L() { { __h_feed "$1" | { __h_keep_input; R "$@"; __h_await "$1"; } 4>&-; } 4>&1; exit; }
`;

/** Joins lines with spaces; each line must end where a shell allows a space. */
function oneLine(text: string): string {
  return text
    .trim()
    .split("\n")
    .map((line) => line.trim())
    .join(" ");
}

/**
 * Starts bash, or sh if there is no bash. It stays the child of another shell, so that a command that kills its `$PPID`
 * does not hit our process; `hermes-channel` in the arguments shows that the sandbox is in use.
 */
export const SHELL_ARGUMENTS = [
  "-c",
  "if command -v bash >/dev/null 2>&1; then bash --noprofile --norc -s hermes-channel; else sh -s hermes-channel; fi; exit $?",
  "hermes-channel",
] as const;

/**
 * The driver as one snippet. It first prints the initial state between two state tokens. Then it answers `hello` with H and
 * the name of its shell on stdout, and with E on stderr, so that no output of init files can follow the answer.
 *
 * In bash the driver is one line, after which a loop reads our snippets: the parser of bash counts lines, so a command that
 * it parsed itself would not begin at line 1. In other shells the line with the bash driver has no effect.
 */
export function driverProgram(hello: string, stateToken: string, prelude: string): string {
  // The prelude may run init files, which may print or change options: silence it and restore what the driver needs.
  const runPrelude =
    prelude === ""
      ? ""
      : `__h_path=$PATH; { ${prelude}\n} </dev/null >/dev/null 2>&1; set +efu; unset IFS; ${KEEP_PATH}; unset __h_path;`;
  const printState = (dump: string): string =>
    `(unset ${VOLATILE}; printf %s ${stateToken}; pwd -P; ${dump}; printf %s ${stateToken});`;
  const greet = (shell: string): string =>
    `printf '%s' ${quoteWord(`${hello}E;`)} >&2; printf '%s' ${quoteWord(`${hello}H${shell};`)}`;
  const bash = [runPrelude, printState("export -p; declare -f; alias -p"), BASH, greet("bash")].join("\n");
  const sh = [runPrelude, printState("export -p"), SH, greet("sh")].join("\n");
  const drivers = `: $'${escapeLine(bash)}'\neval "$(printf '${escapeLine(sh).replaceAll("%", "%%")}')"\n`;
  const start = [
    'if [ -n "$BASHPID" ]; then',
    `${readAtOnce(drivers)}; __h_line=\${__h_line%%$'\\n'*}; eval "eval \${__h_line#: }";`,
    'exec 8>&2 2>/dev/null; while IFS= builtin read -r __h_line; do eval "$__h_line"; done;',
    "exit; fi\n",
  ];
  return start.join(" ") + drivers;
}

/** Makes bash read the text that follows in a few system calls; reading it as lines would take one call per byte. */
function readAtOnce(text: string): string {
  return `LC_ALL=C builtin read -r -N ${Buffer.byteLength(text)} __h_line`;
}

/** An init file that overwrites PATH must not hide the tools of the previous PATH. */
const KEEP_PATH = 'case ":$PATH:" in *":$__h_path:"*) ;; *) PATH=$PATH:$__h_path ;; esac';

/** What a command is started with. All texts are interpreted in the environment, not on this machine. */
export interface RunFields {
  readonly token: string;
  /** The value of HERMES_COMMAND_ID by which the command's processes are found. */
  readonly mark: string;
  readonly stateToken: string;
  readonly mergeStderr: boolean;
  /** Variables for this command only, excluded from the saved state. */
  readonly unsavedVariables: readonly string[];
  readonly cwd: string;
  /** Shell text that restores the state: exports, functions, aliases. */
  readonly setup: string;
  /** Format for the builtin printf that produces the command's input; empty for no input. */
  readonly input: string;
  readonly command: string;
}

/** The snippet that forks the shell of the next bash command. `input` is as in `RunFields`. */
export function prepareSnippet(token: string, input: string): string {
  const fork = `__h_token=${token}; eval "$__h_prepare"`;
  if (input === "") return `${fork}\n`;
  return `exec 9>&-; ${readAtOnce(input)}; exec 7< <(builtin printf "$__h_line"); __h_fed=1; ${fork}\n${input}`;
}

/**
 * The snippet that starts a command. With `last`, the command's input is the rest of the channel's input; otherwise bash
 * must have received the snippet of `prepareSnippet` with the same token and input before.
 */
export function runSnippet(shell: "bash" | "sh", last: boolean, fields: RunFields): string {
  const { token, mark, stateToken, mergeStderr, unsavedVariables, cwd, setup, input, command } = fields;
  const state = `${stateToken.slice(0, 8)} ${stateToken.slice(8)}`;
  const merge = mergeStderr ? "1" : "0";
  if (shell === "sh") {
    const call = [
      "__h_go",
      ...[token, mark, state, merge, unsavedVariables.join(" "), cwd, setup, command].map(quoteWord),
    ].join(" ");
    const program = input === "" ? `${call} <&7 7<&-` : `exec 7<&-; printf ${quoteWord(input)} | ${call}`;
    return `${last ? "L" : "R"} ${[token, mark, program].map(quoteWord).join(" ")}\n`;
  }
  const values = { mark, state, merge, drop: unsavedVariables.join(" "), cwd, setup, command };
  const assignments = Object.entries(values).map(([name, value]) => `__h_${name}=$'${escapeLine(value)}'`);
  const line = `${assignments.join(" ")}\n`;
  if (last) return `exec 9>&-; __h_token=${token}; ${readAtOnce(line)}; eval "$__h_L"\n${line}`;
  const release = input === "" ? "" : "; __h_fed=; exec 7<&-";
  return `R ${Buffer.byteLength(line)} ${mark} || eval "$__h_now"${release}\n${line}`;
}
