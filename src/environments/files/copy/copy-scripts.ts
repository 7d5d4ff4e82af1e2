import { BASE_SCRIPT, OWNER_SCRIPT } from "../file-scripts.ts";

const REQUIRE_TAR = `command -v tar >/dev/null 2>&1 || { say error tar; stop no-program; }`;

/**
 * `$2` suffix of the temporary folder; stdin is an archive of `content/…` followed by `end`. A dying channel truncates the
 * archive, so the folder is renamed only if `end` has arrived.
 */
export const UNPACK_SCRIPT = `${BASE_SCRIPT}${OWNER_SCRIPT}
suffix=$2
while case $p in ?*/) ;; *) false ;; esac; do p=\${p%/}; done
case $p in */.|*/..) stop exists ;; esac
free() { [ ! -e "$p" ] && [ ! -L "$p" ] || stop exists; }
free
${REQUIRE_TAR}
d=\${p%/*}
d=\${d:-/}
[ -d "$d" ] || e=$(mkdir -p "$d" 2>&1) || fail "$e" $?
physical
d=\${p%/*}
t=$d/.hermes-copy-$suffix-$where-$$
remove() { chmod -R u+rwx "$1" 2>/dev/null; rm -rf "$1"; }
tidy() { remove "$t"; }
for f in "$d"/.hermes-copy-*; do
  [ -e "$f" ] || continue
  if is_abandoned "$f"; then remove "$f"; else find "$f" -prune -mmin +1440 -exec rm -rf {} \\; ; fi 2>/dev/null
done
e=$(mkdir -m 700 "$t" 2>&1) || fail "$e" $?
trap tidy EXIT
trap 'exit 1' HUP INT TERM
e=$( { tar -x -p -o -f - -C "$t" 2>&1 || printf '\\nfailed'; } | tail -c 2000 )
case $e in
  *"\${nl}failed") e=\${e%"\${nl}failed"}; e=\${e:-tar failed} ;;
  *) e= ;;
esac
case $e in *[Uu]"nexpected E"*|*"short read"*|*[Tt]"runcated"*) stop incomplete ;; esac
[ -z "$e" ] || fail "$e" 1
[ -e "$t/end" ] && [ -d "$t/content" ] || stop incomplete
free
# Moving a folder requires write permission on it.
to=$p p=$t/content
facts
p=$to m=$f
chmod u+w "$t/content" 2>/dev/null
if mv -T "$t/end" "$t/moved" 2>/dev/null; then e=$(mv -T "$t/content" "$p" 2>&1)
else e=$(mv "$t/content" "$p" 2>&1)
fi || fail "$e" $?
set -- $m
chmod "$2" "$p" 2>/dev/null
say path "$p"
say done 1
`;

/** Sends the bytes of one file. */
export const SEND_SCRIPT = `${BASE_SCRIPT}
follow
require_readable
say path "$p"
exec 3>&1
e=$( { cat "$p" >&3; } 2>&1 ) || fail "$e" $?
say done 1
`;

/** Sends an archive of a folder's content. Files that change while they are read do not fail the copy. */
export const PACK_SCRIPT = `${BASE_SCRIPT}
follow
[ -e "$p" ] || absent
[ -d "$p" ] || stop not-a-folder
[ -r "$p" ] && [ -x "$p" ] || stop denied
${REQUIRE_TAR}
say path "$p"
exec 3>&1
e=$( { tar -c -f - -C "$p" . 2>&1 >&3 3>&- || printf '\\nfailed'; } | tail -c 2000 )
case $e in
  *"\${nl}failed")
    w=$(printf '%s' "\${e%"\${nl}failed"}" | grep -v -e 'changed as we read it' -e 'socket ignored' -e 'Removing leading')
    [ -z "$w" ] || fail "$w" 1 ;;
esac
say done 1
`;
