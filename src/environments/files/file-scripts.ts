/**
 * Shell scripts that work on one file, for GNU, BSD and busybox userland. `$1` is the path. Facts go to stderr as
 * NUL name=value NUL, so that stdout holds only the bytes of files. Any other text on stderr is a program's message.
 */
export const BASE_SCRIPT = `
LC_ALL=C
export LC_ALL
nl='
'
say() { printf '\\000%s=%s\\000' "$1" "$2" >&2; }
stop() { say path "$p"; say problem "$1"; exit 0; }
fail() { say error "$1"; say code "$2"; stop failed; }
# One program per substitution costs only one fork.
facts() { f=$(stat -c '%s %a %u %g %Y' "$p" 2>/dev/null) || f=$(stat -f '%z %Mp%Lp %u %g %m' "$p" 2>/dev/null); }
# Read stdin: given a file name, some of these programs quote their output.
digest() {
  if command -v sha256sum >/dev/null 2>&1; then h=$(sha256sum < "$1")
  elif command -v shasum >/dev/null 2>&1; then h=$(shasum -a 256 < "$1")
  elif command -v sha256 >/dev/null 2>&1; then h=$(sha256 -q < "$1")
  elif command -v openssl >/dev/null 2>&1; then h=$(openssl dgst -sha256 -r < "$1")
  else h=
  fi 2>/dev/null
  h=\${h%% *}
}
# Reports whether the file is missing or only inaccessible.
absent() {
  d=$p
  while d=\${d%/*}; [ -n "$d" ]; do
    [ -e "$d" ] || continue
    [ -d "$d" ] || stop not-a-folder
    [ -x "$d" ] || stop denied
    break
  done
  stop missing
}
# Test with stat, never open: opening a FIFO blocks until its other end is opened.
require_regular() {
  [ -e "$p" ] || absent
  [ ! -d "$p" ] || stop is-folder
  [ -f "$p" ] || stop not-regular
}
require_readable() {
  require_regular
  [ -r "$p" ] || stop denied
}
physical() {
  if [ -d "$p" ]; then d=$p b=; else d=\${p%/*} b=/\${p##*/}; fi
  CDPATH= cd -P -- "\${d:-/}" 2>/dev/null || return 0
  [ -z "$b" ] && p=$PWD || p=\${PWD%/}$b
}
follow() {
  n=0
  while [ -L "$p" ]; do
    n=$((n + 1))
    [ "$n" -le 40 ] || stop symlink-loop
    to=$(readlink "$p"; echo x)
    to=\${to%"\${nl}x"}
    case $to in /*) p=$to ;; *) p=\${p%/*}/$to ;; esac
  done
  physical
}
p=$1
case $p in "~") p=$HOME ;; "~/"*) p=$HOME/\${p#??} ;; esac
case $p in /*) ;; *) d=$(pwd -P; echo x); p=\${d%"\${nl}x"}/$p ;; esac
`;

/**
 * `$where` identifies this boot and this pid namespace by the host name and the start time of the first process. It is
 * empty if /proc does not show them. Uses only builtins, because writes are frequent.
 */
export const OWNER_SCRIPT = `
where=
owner() {
  { read -r boot < /proc/sys/kernel/random/boot_id && read -r host < /proc/sys/kernel/hostname &&
    read -r first < /proc/1/stat; } 2>/dev/null || return 0
  case $host in */*) return 0 ;; esac
  set -- \${first##*) }
  [ "$#" -ge 20 ] || return 0
  shift 19
  where=\${boot%%-*}.$1.$host
}
owner
# Whether the process whose pid ends a temporary name has certainly exited.
is_abandoned() {
  [ -n "$where" ] || return 1
  case $1 in *"-$where-"*) ;; *) return 1 ;; esac
  case \${1##*-} in ""|*[!0-9]*) return 1 ;; esac
  ! kill -0 "\${1##*-}" 2>/dev/null && [ ! -e "/proc/\${1##*-}" ]
}
`;

export const STAT_SCRIPT = `${BASE_SCRIPT}
[ -L "$p" ] && say link 1
follow
[ -e "$p" ] || absent
if [ -d "$p" ]; then k=folder; elif [ -f "$p" ]; then k=file; elif [ -p "$p" ]; then k=fifo
elif [ -S "$p" ]; then k=socket; elif [ -b "$p" ] || [ -c "$p" ]; then k=device; else k=other; fi
say type "$k"
facts
say facts "$f"
say path "$p"
`;

/** `$2`: entry limit. Prints type, name and NUL of each entry; a shell pattern handles any name. */
export const LIST_SCRIPT = `${BASE_SCRIPT}
follow
[ -e "$p" ] || absent
[ -d "$p" ] || stop not-a-folder
[ -r "$p" ] && [ -x "$p" ] || stop denied
say path "$p"
limit=$2 n=0
for f in "\${p%/}"/.* "\${p%/}"/*; do
  b=\${f##*/}
  case $b in .|..) continue ;; esac
  [ -e "$f" ] || [ -L "$f" ] || continue
  n=$((n + 1))
  [ "$n" -le "$limit" ] || continue
  if [ -L "$f" ]; then k=l; elif [ -d "$f" ]; then k=d; elif [ -f "$f" ]; then k=f; else k=o; fi
  printf '%s%s\\000' "$k" "$b"
done
say total "$n"
`;

/** `$2`: byte limit. The size is only a hint: files in /proc report 0, and other files may grow. */
export const BYTES_SCRIPT = `${BASE_SCRIPT}
follow
require_readable
say path "$p"
facts
say facts "$f"
size=\${f%% *}
[ "\${size:-0}" -le "$2" ] || { say larger 1; exit 0; }
exec 3>&1
# If the size is known, large blocks are several times as fast.
if [ "\${size:-0}" -gt 0 ]; then e=$(dd if="$p" bs=131072 count="$(($2 / 131072 + 1))" 2>&1 >&3)
else e=$(head -c "$(($2 + 1))" "$p" 2>&1 >&3)
fi || fail "$e" $?
say done 1
`;

/**
 * `$2` first line, `$3` lines, `$4` bytes scanned, `$5` bytes per line, `$6` bytes in total, `$7` the largest file for
 * which lines are counted and a digest is computed. The digest comes first: if the file changes in between, the digest is
 * outdated and a later write with it is refused.
 */
export const PAGE_SCRIPT = `${BASE_SCRIPT}
follow
require_readable
say path "$p"
facts
say facts "$f"
size=\${f%% *}
if [ "\${size:-0}" -le "$7" ]; then
  digest "$p"
  say digest "$h"
  say newlines "$(wc -l < "$p")"
fi
say sample "$(head -c 1000 "$p" 2>/dev/null | od -An -v -tx1)"
say last "$(tail -c 1 "$p" 2>/dev/null | od -An -v -tx1)"
part() { tail -n "+$1" "$p" | head -n "$2" | head -c "$3"; }
[ "\${size:-0}" -le "$4" ] || say scanned "$(part "$2" "$3" "$4" 2>/dev/null | wc -c)"
part "$2" "$3" "$4" 2>/dev/null | cut -b "1-$5" 2>/dev/null | head -c "$6"
say done 1
`;

/**
 * `$2` suffix of the temporary file, `$3` length of stdin, `$4` mode or empty, `$5` the digest that the file must have
 * now, `absent`, or empty, `$6` not empty to keep the mode of an existing file.
 *
 * A dying channel truncates stdin, so the length is checked before the rename. From the comparison to the rename the
 * writers of a folder exclude each other: by flock if available (it ends with its holder), else by a symbolic link that
 * holds the pid of its holder.
 */
export const WRITE_SCRIPT = `${BASE_SCRIPT}${OWNER_SCRIPT}
suffix=$2 length=$3 mode=$4 expected=$5 keep=\${6-}
follow
case $p in */|*/.|*/..) stop is-folder ;; esac
check() {
  [ ! -d "$p" ] || stop is-folder
  [ ! -e "$p" ] || [ -f "$p" ] || stop not-regular
}
check
d=\${p%/*}
d=\${d:-/}
if [ ! -d "$d" ]; then
  e=$(mkdir -p "$d" 2>&1) || fail "$e" $?
  physical
fi
d=\${p%/*}
t=$d/.hermes-write-$suffix-$where-$$
lock=
tidy() { [ -z "$t" ] || rm -f "$t"; [ -z "$lock" ] || rm -f "$lock"; }
trap tidy EXIT
trap 'exit 1' HUP INT TERM
# Remove the temporary files of killed writers: at once if the writer has certainly exited, else by age, because a writer with an unknown pid may run in another container.
for f in "$d"/.hermes-write-*; do
  [ -e "$f" ] || continue
  if is_abandoned "$f"; then rm -f "$f" 2>/dev/null; continue; fi
  age=60 writer=\${f##*-}
  case $writer in ""|*[!0-9]*) ;; *) kill -0 "$writer" 2>/dev/null || [ -e "/proc/$writer" ] || age=1 ;; esac
  find "$f" -prune -type f -mmin "+$age" -exec rm -f {} \\; 2>/dev/null
done
old=
if [ -e "$p" ]; then
  facts || fail "stat cannot read its mode" 1
  old=$f
  [ -z "$keep" ] || mode=
fi
from=
[ ! -e "$p" ] || [ -w "$p" ] || from=/dev/null # a trial write shows whether the file or the whole file system is read-only
# Common modes are set by umask when the file is created, which saves a chmod; other modes are set after the write.
born=\${mode:-\${old#* }} mask=077
born=\${born%% *}
case $born in 644|0644) mask=022 ;; 664|0664) mask=002 ;; 600|0600) ;; *) born= ;; esac
e=$( { [ -z "$old$mode" ] || umask "$mask"; set -C; exec dd bs=65536 \${from:+if="$from"} > "$t"; } 2>&1 ) || fail "\${e%%"$nl"*}" $?
[ -z "$from" ] || stop denied
# The last line of dd usually starts with the number of bytes. wc is the last resort: small builds overflow at 4 GiB.
e=\${e##*"$nl"}
case $e in
  *" bytes"*) n=\${e%% *} ;;
  *) at=$p p=$t; facts; p=$at n=\${f%% *}; n=\${n:-$(($(wc -c < "$t")))} ;;
esac
[ "$n" = "$length" ] || stop incomplete
if [ -n "$old" ]; then
  set -- $old
  m=$2
  { [ -O "$p" ] && [ -G "$p" ] && [ -O "$t" ] && [ -G "$t" ]; } || chown "$3:$4" "$t" 2>/dev/null || {
    say owner lost
    chgrp "$4" "$t" 2>/dev/null
    case $m in ????*) m=\${m#"\${m%???}"} ;; esac # set-user-id bits would grant the rights of another user
  }
  mode=\${mode:-$m}
fi
[ -z "$mode" ] || [ "$mode" = "$born" ] || e=$(chmod "$mode" "$t" 2>&1) || fail "$e" $?
if [ -r "$d/." ] && command -v flock >/dev/null 2>&1; then
  exec 9<"$d/."
  flock 9 2>/dev/null
else
  l=$d/.hermes-lock n=0
  until ln -s "$$" "$l" 2>/dev/null; do
    n=$((n + 1))
    [ "$n" -le 200 ] || fail "another writer holds $l" 1
    holder=$(readlink "$l") || continue
    kill -0 "$holder" 2>/dev/null || [ -e "/proc/$holder" ] || rm -f "$l"
    sleep 0.02 2>/dev/null || sleep 1
  done
  lock=$l
fi
check
case $expected in
  "") ;;
  absent) [ ! -e "$p" ] || stop changed-meanwhile ;;
  *)
    [ -f "$p" ] || stop changed-meanwhile
    digest "$p"
    [ -n "$h" ] || fail "no program here computes a SHA-256" 1
    [ "$h" = "$expected" ] || stop changed-meanwhile ;;
esac
[ -e "$p" ] || say created 1
e=$(mv -f "$t" "$p" 2>&1) || fail "$e" $?
t=
say path "$p"
say done 1
`;

/** Removes a link itself, not its target. `$2`: the digest that the file must have now, or empty. */
export const REMOVE_SCRIPT = `${BASE_SCRIPT}
[ -L "$p" ] || { physical; require_regular; }
if [ -n "$2" ]; then
  digest "$p"
  [ -n "$h" ] || fail "no program here computes a SHA-256" 1
  [ "$h" = "$2" ] || stop changed-meanwhile
fi
e=$(rm -f "$p" 2>&1) || fail "$e" $?
say path "$p"
say done 1
`;
