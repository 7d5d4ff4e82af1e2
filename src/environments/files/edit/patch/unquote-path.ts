import { ESCAPES } from "../../../channel/quote.ts";

/** Decodes a path that git put in double quotes, with octal bytes as UTF-8; returns any other path unchanged. */
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
