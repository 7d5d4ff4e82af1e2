import { DIRTY_HEAD } from "./manifest.ts";
import { STATE_FOLDER } from "./offered-file.ts";

/**
 * Shell scripts that run in the environment, for GNU, BSD and busybox userland. `$1` is the base, `$2` the owner. The
 * first word of stdout is the outcome; stderr holds the messages of programs.
 */
const BASE = `
LC_ALL=C
export LC_ALL
nl='
'
base=$1 owner=$2
fail() { printf 'failed %s\\n' "$1"; exit 0; }
case $base in "~"*) [ -n "$HOME" ] || fail "the user has no home folder" ;; esac
case $base in "~") base=$HOME ;; "~/"*) base=$HOME/\${base#??} ;; esac
case $base in /*) ;; *) fail "$base is not an absolute path" ;; esac
state=$base/${STATE_FOLDER}
m=$state/$owner.manifest
`;

/** `$3`: the expected first line of the manifest. If it differs, the script prints the manifest. */
export const CHECK_SCRIPT = `${BASE}
[ -f "$m" ] || { echo none; exit 0; }
first=
IFS= read -r first < "$m"
[ "$first" != "$3" ] || { echo same; exit 0; }
echo differs
cat "$m"
`;

/**
 * `$3`: the current first line of the manifest, `$4` suffix of the staging folder. stdin is an archive: the files by
 * number, \`plan\` (lines "put NUMBER PATH", "add NUMBER PATH" for a path that is not in the manifest, and "drop NUMBER
 * PATH") and finally \`manifest\`, which a truncated archive lacks.
 *
 * The archive is unpacked into the staging folder before any file is changed. During the exchange the manifest is marked
 * dirty, and a failure restores all exchanged files. A path is in at most one manifest: a sync that writes a path removes
 * it from the manifests of other owners. A file that is in no manifest belongs to the user: if an offered file replaces
 * it, it is kept aside and its path is printed.
 */
export const APPLY_SCRIPT = `${BASE}
expected=$3
umask 077
mkdir -p "$base" || fail
[ ! -L "$state" ] || fail "$state is a symbolic link"
[ -d "$state" ] || mkdir -p "$state" || fail
for f in "$state"/stage-*; do
  [ ! -d "$f" ] || find "$f" -prune -mmin +60 -exec rm -rf {} \\; 2>/dev/null
done
s=$state/stage-$4 lock= begun= count=0
mkdir "$s" "$s/old" || fail

parse() {
  verb=\${line%% *} line=\${line#* }
  n=\${line%% *} p=\${line#* }
  t=$base/$p
  case $p in */*) d=\${p%/*} ;; *) d= ;; esac
}
undo() {
  i=0
  while [ "$i" -le "$count" ] && IFS= read -r line; do
    parse
    i=$((i + 1))
    if [ -e "$s/old/$n" ] || [ -L "$s/old/$n" ]; then mv -f "$s/old/$n" "$t"
    elif [ "$verb" != drop ] && [ "$i" -le "$count" ]; then rm -f "$t"
    fi
  done < "$s/plan"
  if [ -f "$s/before" ]; then mv -f "$s/before" "$m"; else rm -f "$m"; fi
}
tidy() {
  [ -z "$begun" ] || undo
  rm -rf "$s"
  [ -z "$lock" ] || rm -f "$lock"
}
trap tidy EXIT
trap 'exit 1' HUP INT TERM

command -v tar >/dev/null 2>&1 || fail "tar is not installed"
# The staging folder is private, so files can be created with their final modes.
(umask 0; cd "$s" && tar -xof -) || fail
[ -f "$s/manifest" ] || fail "the archive is truncated"

if command -v flock >/dev/null 2>&1; then
  exec 9>>"$state/lock" && flock 9 2>/dev/null
else
  l=$state/lock.link n=0
  until ln -s "$$" "$l" 2>/dev/null; do
    n=$((n + 1))
    [ "$n" -le 300 ] || fail "another process holds $l"
    holder=$(readlink "$l") || continue
    kill -0 "$holder" 2>/dev/null || [ -e "/proc/$holder" ] || rm -f "$l"
    sleep 0.1 2>/dev/null || sleep 1
  done
  lock=$l
fi
first=
[ ! -f "$m" ] || IFS= read -r first < "$m"
[ "$first" = "$expected" ] || { echo moved; exit 0; }

# Requires each path component to be a real folder: a link could lead outside of the base.
inside() {
  [ "$1" != "$last" ] || return 0
  rest=$1 at=$base
  while [ -n "$rest" ]; do
    at=$at/\${rest%%/*}
    case $rest in */*) rest=\${rest#*/} ;; *) rest= ;; esac
    [ ! -L "$at" ] || { [ "$2" = find ] || printf '%s is a symbolic link\\n' "$at" >&2; return 1; }
    [ -d "$at" ] || { [ "$2" = make ] && (umask 022; mkdir "$at"); } || return 1
  done
  last=$1
}
[ ! -f "$m" ] || cp "$m" "$s/before" || fail
for o in "$state"/*.manifest; do
  [ -f "$o" ] && [ "$o" != "$m" ] || continue
  TAKEN="$s/taken" awk '
    NR == FNR { if (sub(/^(put|add) [0-9]+ /, "")) put[$0] = 1; next }
    { path = $0; sub(/^[^ ]+ [^ ]+ /, "", path) }
    FNR > 1 && path in put { taken = 1; print path >> ENVIRON["TAKEN"]; next }
    { line[++lines] = $0 }
    END { if (!taken) exit; print "hermes-sync 1 shared"; for (i = 2; i <= lines; i++) print line[i] }
  ' "$s/plan" "$o" > "$s/other" || fail
  [ ! -s "$s/other" ] || mv -f "$s/other" "$o" || fail
done
{ echo "${DIRTY_HEAD}" && { [ ! -f "$m" ] || tail -n +2 "$m"; } && tail -n +2 "$s/manifest"; } > "$s/dirty" || fail
begun=1 last=
mv -f "$s/dirty" "$m" || fail
while IFS= read -r line; do
  parse
  if [ "$verb" != drop ]; then
    inside "$d" make || fail
    if [ -L "$t" ]; then mv "$t" "$s/old/$n" || fail
    elif [ -d "$t" ]; then fail "$t is a folder"
    elif [ -e "$t" ]; then ln "$t" "$s/old/$n" 2>/dev/null || cp -p "$t" "$s/old/$n" || fail
    fi
    count=$((count + 1))
    mv -f "$s/$n" "$t" || fail
  else
    if inside "$d" find && { [ -f "$t" ] || [ -L "$t" ]; }; then mv "$t" "$s/old/$n" || fail; fi
    count=$((count + 1))
  fi
done < "$s/plan"
mv -f "$s/manifest" "$m" || fail
begun=
echo done
while IFS= read -r line; do
  parse
  [ -f "$s/old/$n" ] || continue
  if [ "$verb" = add ] && ! cmp -s "$s/old/$n" "$t" && ! grep -Fxq -e "$p" "$s/taken" 2>/dev/null; then
    mkdir -p "$state/kept/$4/$d" && mv "$s/old/$n" "$state/kept/$4/$p" && printf '%s\\n' "$state/kept/$4/$p"
  fi
  [ "$verb" = drop ] || continue
  while [ -n "$d" ] && rmdir "$base/$d" 2>/dev/null; do
    case $d in */*) d=\${d%/*} ;; *) d= ;; esac
  done
done < "$s/plan"
`;
