/** One record of the search output: a file name, followed by the line if lines are listed. */
export interface SearchRecord {
  readonly path: string;
  /** Undefined if only names are listed. */
  readonly rest: string | undefined;
}

const MAX_NAME_BYTES = 8_192;
/** Text between records: separators of line groups, and notices of rg about binary files. */
const SEPARATORS =
  /^(?:--\n|[^\0]*?: (?:WARNING: stopped searching )?binary file (?:after match|matches) \(found [^\n]*\)\n)+/;

/** Parses a stream of `name NUL` or `name NUL rest newline` into records; long names and lines are truncated. */
export function createRecordParser(
  shape: "names" | "lines",
  restBytes: number,
  onRecord: (record: SearchRecord) => void,
): (bytes: Uint8Array) => void {
  const held: Record<"name" | "rest", { chunks: Buffer[]; length: number }> = {
    name: { chunks: [], length: 0 },
    rest: { chunks: [], length: 0 },
  };
  let reading: "name" | "rest" = "name";

  const appendPart = (bytes: Uint8Array): void => {
    const part = held[reading];
    const room = (reading === "name" ? MAX_NAME_BYTES : restBytes) - part.length;
    if (room <= 0 || bytes.length === 0) return;
    const kept = Buffer.from(bytes.subarray(0, room));
    part.chunks.push(kept);
    part.length += kept.length;
  };
  const takePart = (which: "name" | "rest"): string => {
    const text = Buffer.concat(held[which].chunks).toString("utf8");
    held[which] = { chunks: [], length: 0 };
    return text;
  };
  const finish = (rest: string | undefined): void => {
    const path = takePart("name").replace(SEPARATORS, "");
    if (path.startsWith("./")) onRecord({ path: path.slice(2), rest });
  };

  return (bytes) => {
    for (let at = 0; at < bytes.length; ) {
      const end = bytes.indexOf(reading === "name" ? 0 : 0x0a, at);
      appendPart(bytes.subarray(at, end === -1 ? bytes.length : end));
      if (end === -1) return;
      at = end + 1;
      if (reading === "name" && shape === "lines") reading = "rest";
      else {
        reading = "name";
        finish(shape === "lines" ? takePart("rest") : undefined);
      }
    }
  };
}
