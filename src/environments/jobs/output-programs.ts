/**
 * Shell programs, for any POSIX sh, that store the output of a job within bounds and read it. The output goes through a
 * pipe into files `out.START.LINES`, named after the number of bytes (plus BASE, so that names sort numerically) and
 * lines before them. Only the first file and the newest ones are kept; the names give the offset of every byte that is
 * kept, and the size of the gap.
 */

const BASE = 1_000_000_000_000_000;
/** At this size, the next file is started. */
export const PART_BYTES = 2 * 1024 * 1024;
/** Many small blocks suit a job that prints line by line: each round costs two processes. At most 2 MiB per round. */
const BLOCK_BYTES = 1024;
const BLOCKS = 2048;

/** Field: FOLDER; stdin: the job's output. Blocks on a full disk, and so does the job. Exits at the end of the output. */
export const COLLECT = `
at=${BASE} lines=0 first= last=
while :; do
  file=$1/out.$at.$lines
  stats=$(LC_ALL=C dd bs=${BLOCK_BYTES} count=${BLOCKS} 2>&1 >>"$file") || { sleep 1; continue; }
  size=$(wc -c <"$file")
  if [ "$size" -ge ${PART_BYTES} ]; then
    at=$((at + size)) lines=$((lines + $(wc -l <"$file")))
    [ -z "$last" ] || rm -f "$last"
    if [ -z "$first" ]; then first=$file; else last=$file; fi
  fi
  stats=\${stats%% records in*} stats=\${stats##*[!0-9+]}
  [ "$((\${stats%+*} + \${stats#*+}))" -eq ${BLOCKS} ] || break
done
: >"$1/drained"
`;

/**
 * Opens the existing files, so that none is removed while it is read: \`a\` are the files before the gap, \`b\` those after
 * it. While a job prints fast, a file may be removed between listing and opening; then all files are listed again. Output
 * that arrives later is ignored, so that the numbers are consistent.
 */
const OPEN = `
tries=0 names=? opened=
until [ "$names" = "$opened" ] || [ "$tries" -ge 50 ]; do
  tries=$((tries + 1)) fd=3 names= opened=
  for file in "$1"/out.*; do
    [ "$fd" -lt 9 ] && [ "$file" != "$1/out.*" ] || continue
    names="$names \${file##*/out.}"
    eval "command exec $fd<\\"\\$file\\"" 2>/dev/null && fd=$((fd + 1)) opened="$opened \${file##*/out.}"
  done
done
fd=3 end=${BASE} a= b= gap= a_end=${BASE}
for name in $opened; do
  if [ "\${name%.*}" -ne "$end" ]; then gap=1 b= b_start=\${name%.*} b_line=\${name#*.} end=$b_start; fi
  end=$((end + $(wc -c <"/proc/self/fd/$fd")))
  if [ -n "$gap" ]; then b="$b /proc/self/fd/$fd"; else a="$a /proc/self/fd/$fd" a_end=$end; fi
  fd=$((fd + 1))
done
[ "$fd" -gt 3 ] || [ -p "$1/pipe" ] || exit 1
part_a() { [ -z "$a" ] || cat $a | head -c "$((a_end - ${BASE}))"; }
part_b() { cat $b | head -c "$((end - b_start))"; }
total=$((end - ${BASE}))
`;

/**
 * Fields: FOLDER OFFSET LIMIT BYTES; with an empty OFFSET the last lines. Prints the total lines and bytes, the first line
 * shown, the dropped bytes and lines, and then the lines.
 */
export const LOG = `${OPEN}
a_lines=$(part_a | wc -l) dropped=0 dropped_lines=0
if [ -n "$gap" ]; then
  lines=$((b_line + $(part_b | wc -l))) ends=$(part_b | tail -c 1 | wc -l)
  dropped=$((b_start - a_end)) dropped_lines=$((b_line - a_lines))
else
  lines=$a_lines ends=$(part_a | tail -c 1 | wc -l)
fi
[ "$total" -eq 0 ] || [ "$ends" -eq 1 ] || lines=$((lines + 1))
from=$2
[ -n "$from" ] || from=$((lines > $3 ? lines - $3 : 0))
to=$((from + $3))
printf '%s %s %s %s %s\\n' "$((lines))" "$total" "$from" "$dropped" "$dropped_lines"
page() {
  [ "$from" -gt "$a_lines" ] || part_a | tail -n "+$((from + 1))" | head -n "$1"
  [ -n "$gap" ] || return 0
  if [ "$from" -le "$b_line" ] && [ "$to" -gt "$a_lines" ]; then
    printf '\\n[%s bytes of output, %s lines, were not kept]\\n' "$dropped" "$dropped_lines"
  fi
  begin=$((from > b_line ? from : b_line))
  [ "$to" -le "$begin" ] || part_b | tail -n "+$((begin - b_line + 1))" | head -n "$((to - begin))"
}
if [ -z "$2" ]; then page "$3" | tail -c "$4"; else page "$3" | head -c "$4"; fi
:
`;

/**
 * Fields: FOLDER FROM BYTES; a negative FROM counts from the end. Prints the offset of the first byte (later than FROM if
 * those bytes were dropped), the total bytes, and then the bytes.
 */
export const READ = `${OPEN}
from=$2
[ "$from" -ge 0 ] || from=$((total + from < 0 ? 0 : total + from))
if [ -n "$gap" ] && [ "$from" -ge "$((a_end - ${BASE}))" ]; then
  skip=$((from + ${BASE} - b_start))
  [ "$skip" -ge 0 ] || skip=0
  printf '%s %s\\n' "$((b_start - ${BASE} + skip))" "$total"
  part_b | tail -c "+$((skip + 1))" | head -c "$3"
else
  [ "$from" -le "$total" ] || from=$total
  printf '%s %s\\n' "$from" "$total"
  part_a | tail -c "+$((from + 1))" | head -c "$3"
fi
:
`;
