const ESCAPES: Readonly<Record<string, string>> = {
  n: "\n",
  t: "\t",
  r: "\r",
  a: "\x07",
  b: "\b",
  f: "\f",
  v: "\v",
};

/** The path that git wrote between double quotes, its octal bytes read as UTF-8; any other path as it is. */
export function unquotePath(written: string, inside = false): string {
  const [, body = inside ? written : undefined] = /^"(.*)"$/.exec(written) ?? [];
  if (body === undefined || !body.includes("\\")) return body ?? written;
  const bytes = body.replace(/(?:\\[0-7]{3})+/g, (run) =>
    Buffer.from(
      run
        .slice(1)
        .split("\\")
        .map((octal) => Number.parseInt(octal, 8)),
    ).toString("utf8"),
  );
  return bytes.replace(/\\(.)/g, (_, escaped: string) => ESCAPES[escaped] ?? escaped);
}
