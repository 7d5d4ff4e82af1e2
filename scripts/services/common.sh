# shellcheck shell=bash
# Functions that every part uses: the folder, messages on stderr, JSON, processes and mounts.

say() { printf 'test-services: %s\n' "$*" >&2; }

# Aborts the start of a part with a reason that `status` shows.
give_up() {
  printf '%s' "$2" >"$FOLDER/$1.failure"
  exit 1
}

last_line() { grep -v '^[[:space:]]*$' "$1" | tail -n 1 | cut -c 1-400; }

# Seconds since the given $EPOCHREALTIME, or since the start of the script.
elapsed() {
  local since=${1:-$BEGAN} microseconds
  microseconds=$((${EPOCHREALTIME/[.,]/} - ${since/[.,]/}))
  printf '%d.%d' $((microseconds / 1000000)) $((microseconds / 100000 % 10))
}
BEGAN=$EPOCHREALTIME

json_string() {
  local text=$1
  text=${text//\\/\\\\}
  text=${text//\"/\\\"}
  printf '"%s"' "${text//[[:cntrl:]]/ }"
}

# Creates the folder and holds its lock until the script ends; launched servers do not inherit the lock.
open_folder() {
  # A socket address is limited to 108 bytes, and our longest one adds 45 to the folder.
  ((${#FOLDER} <= 54)) || refuse "the folder's path is too long for sockets, set HERMES_TEST_SERVICES: $FOLDER"
  # 0711 and not 0700: PostgreSQL runs as another user and must reach its own part.
  mkdir -m 711 "$FOLDER" 2>/dev/null || true
  if [[ ! -d $FOLDER || -L $FOLDER || ! -O $FOLDER ]]; then
    say "$FOLDER was not created by this script"
    exit 1
  fi
  exec 9>"$FOLDER/lock"
  flock -w 900 9 || { say "another start or stop holds $FOLDER/lock"; exit 1; }
}

free_port() {
  local port
  while true; do
    port=$((RANDOM % 12000 + 20000)) # below the range that outgoing connections use
    (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
  done
  printf '%s' "$port"
}

# Runs the check until it succeeds; fails after the given number of seconds, or at once if the part's process has exited.
wait_for() {
  local part=$1 limit=$((SECONDS + $2))
  shift 2
  until "$@" >/dev/null 2>&1; do
    is_alive "$part" || give_up "$part" "ended while starting: $(last_line "$FOLDER/$part.log")"
    ((SECONDS < limit)) || give_up "$part" "did not answer in time: $(last_line "$FOLDER/$part.log")"
    sleep 0.05
  done
}

# Processes are identified by id and start time, so that a reused id is never mistaken for ours.

# The start time of a process that is not a zombie, in ticks since boot.
start_time() {
  local stat
  { stat=$(<"/proc/$1/stat"); } 2>/dev/null || return 1
  read -ra stat <<<"${stat##*) }"
  [[ ${stat[0]} != Z && ${stat[0]} != X ]] && printf '%s' "${stat[19]}"
}

is_same_process() { [[ -n $2 && $(start_time "$1") == "$2" ]]; }

# Starts a server in its own session, which survives the script, and records it.
launch() {
  local part=$1
  shift
  (
    pid=$BASHPID
    cd /
    for fd in /proc/"$pid"/fd/*; do
      fd=${fd##*/}
      if ((fd > 2 && fd != 255)); then eval "exec $fd>&-"; fi
    done
    printf '%s %s %s\n' "$pid" "$(start_time "$pid")" "$(</proc/sys/kernel/random/boot_id)" >"$FOLDER/$part/process"
    # Background jobs of a script ignore SIGINT, and the children of the server would inherit that.
    exec env --default-signal HERMES_TEST_SERVICES_PART="$FOLDER/$part" setsid "$@"
  ) &
  until [[ -s $FOLDER/$part/process ]] || ! kill -0 $! 2>/dev/null; do sleep 0.01; done
}

is_alive() {
  local pid started boot
  read -r pid started boot 2>/dev/null <"$FOLDER/$1/process" || return 1
  [[ $boot == "$(</proc/sys/kernel/random/boot_id)" ]] && is_same_process "$pid" "$started"
}

# Whether the start is complete and the process of the part, if it has one, still runs.
is_ready() {
  [[ -e $FOLDER/$1/ready ]] && { [[ ! -e $FOLDER/$1/process ]] || is_alive "$1"; }
}

process_json() {
  local pid started boot
  read -r pid started boot <"$FOLDER/$1/process"
  printf '"process":{"pid":%s,"startTime":%s,"bootId":"%s"}' "$pid" "$started" "$boot"
}

# Prints "pid start-time" of a process and of all its descendants.
process_tree() {
  local -A children=()
  local file stat fields queue=("$1") pid
  for file in /proc/[0-9]*/stat; do
    { stat=$(<"$file"); } 2>/dev/null || continue
    read -ra fields <<<"${stat##*) }"
    children[${fields[1]}]+=" ${stat%% *}"
  done
  while ((${#queue[@]} > 0)); do
    pid=${queue[0]}
    read -ra fields <<<"${children[$pid]-}"
    queue=("${queue[@]:1}" "${fields[@]}")
    printf '%s %s\n' "$pid" "$(start_time "$pid")"
  done
}

# Prints the process trees of all processes that inherited our mark from a launched server.
marked_trees() {
  local pid
  while IFS=/ read -r _ _ pid _; do
    process_tree "$pid"
  done < <(grep -lzxF -- "HERMES_TEST_SERVICES_PART=$FOLDER/$1" /proc/[0-9]*/environ 2>/dev/null)
}

signal_all() {
  local signal=$1 pid started
  while read -r pid started; do
    if is_same_process "$pid" "$started"; then kill -s "$signal" "$pid" 2>/dev/null || true; fi
  done
}

none_left() {
  local pid started
  while read -r pid started; do
    if is_same_process "$pid" "$started"; then return 1; fi
  done <<<"$1"
}

wait_gone() {
  local limit=$((SECONDS + $2))
  until none_left "$1"; do
    ((SECONDS < limit)) || return 1
    sleep 0.02
  done
}

# Ends the part's server with the given signal, then its remaining processes and descendants.
end_server() {
  local part=$1 signal=$2 main tree
  if is_alive "$part"; then
    main=$(cut -d ' ' -f 1,2 "$FOLDER/$part/process")
    tree=$(process_tree "${main% *}")
    signal_all "$signal" <<<"$main"
    wait_gone "$main" 20 || signal_all KILL <<<"$main"
    signal_all KILL <<<"$tree"
    wait_gone "$tree" 10 || say "$part: processes that do not end: $tree"
  fi
  tree=$(marked_trees "$part")
  signal_all KILL <<<"$tree"
  wait_gone "$tree" 10 || say "$part: processes that do not end: $tree"
}

unmount_below() {
  local line point points=()
  while read -ra line; do
    printf -v point '%b' "${line[4]}" # spaces are written as \040
    if [[ $point == "$1"/* ]]; then points=("$point" "${points[@]}"); fi
  done </proc/self/mountinfo
  for point in "${points[@]}"; do
    umount "$point" 2>/dev/null || umount -l "$point" || true
  done
}

remove_folder() {
  unmount_below "$1"
  rm -rf --one-file-system "$1"
}
