/** A header of a mail: the name in lower case. */
export interface MailHeader {
  readonly key: string;
  readonly value: string;
}

/** What one check of our mail server has found. */
interface CheckResult {
  readonly method: string;
  readonly result: string;
  /** Such as `header.d` and `smtp.mailfrom`. */
  readonly properties: ReadonlyMap<string, string>;
}

/**
 * Whether our own mail server has proved that a mail comes from the domain of its sender: DMARC, or DKIM or SPF of exactly that
 * domain. Anyone can write such headers into a mail, so only headers with the name of our server count. Of several with the
 * same check only the topmost counts: a server adds its own at the top and removes forged ones with its name.
 */
export function isAuthentic(
  headers: readonly MailHeader[],
  { address, authservId }: { readonly address: string; readonly authservId: string },
): boolean {
  const domain = domainOf(address);
  if (domain === "" || authservId === "" || headers.filter(({ key }) => key === "from").length !== 1)
    return false;
  const found = new Map<string, readonly CheckResult[]>();
  for (const { key, value } of headers) {
    const report = key === "authentication-results" ? parseResults(value) : undefined;
    if (report?.server !== authservId) continue;
    for (const method of new Set(report.results.map((one) => one.method)))
      if (!found.has(method))
        found.set(
          method,
          report.results.filter((one) => one.method === method),
        );
  }
  const passedResults = (method: string): readonly CheckResult[] =>
    (found.get(method) ?? []).filter(({ result }) => result === "pass");
  const dmarc = found.get("dmarc") ?? [];
  if (dmarc.some(({ result }) => result === "fail")) return false;
  return (
    passedResults("dmarc").some(({ properties }) => properties.get("header.from") === domain) ||
    passedResults("dkim").some(
      ({ properties }) =>
        (properties.get("header.d") ?? domainOf(properties.get("header.i") ?? "")) === domain,
    ) ||
    passedResults("spf").some(
      ({ properties }) => domainOf(`@${properties.get("smtp.mailfrom") ?? ""}`) === domain,
    )
  );
}

/** The text after the last @. */
function domainOf(address: string): string {
  const at = address.lastIndexOf("@");
  return at === -1 ? "" : address.slice(at + 1).toLowerCase();
}

/**
 * A property with its whole value, which may contain quoted parts; or a quoted text outside of properties, which is skipped.
 * Senders control the text within the quotes, so a property in there must not count.
 */
const PROPERTY = /"(?:\\.|[^"\\])*"|([a-z]+)\s*\.\s*([a-z0-9_-]+)\s*=\s*((?:"(?:\\.|[^"\\])*"|[^\s"])+)/gi;

/** Parses the value of `Authentication-Results` (RFC 8601). */
function parseResults(
  value: string,
): { readonly server: string; readonly results: readonly CheckResult[] } | undefined {
  const [head = "", ...entries] = splitEntries(value);
  const server = /^[^\s]+/.exec(head.trim())?.[0]?.toLowerCase();
  if (server === undefined) return undefined;
  const results = entries.flatMap((entry) => {
    const [, method, result] = /^\s*([a-z0-9-]+)(?:\s*\/\s*\d+)?\s*=\s*([a-z]+)/i.exec(entry) ?? [];
    if (method === undefined || result === undefined) return [];
    const properties = [...entry.matchAll(PROPERTY)].map(
      ([, type = "", name = "", text = ""]): [string, string] => [
        `${type}.${name}`.toLowerCase(),
        text.replaceAll('"', "").toLowerCase(),
      ],
    );
    return [{ method: method.toLowerCase(), result: result.toLowerCase(), properties: new Map(properties) }];
  });
  return { server, results };
}

/** Splits at semicolons, without comments; a semicolon or parenthesis within quotes is neither. */
function splitEntries(value: string): string[] {
  const entries = [""];
  let depth = 0;
  let isQuoted = false;
  for (let index = 0; index < value.length; index++) {
    const letter = value[index] ?? "";
    const isEscaped = letter === "\\" && (isQuoted || depth > 0);
    const text = isEscaped ? `${letter}${value[++index] ?? ""}` : letter;
    if (letter === '"' && depth === 0) isQuoted = !isQuoted;
    else if (!isQuoted && letter === "(") depth++;
    else if (!isQuoted && letter === ")" && depth > 0) {
      depth--;
      continue;
    }
    if (depth > 0) continue;
    if (letter === ";" && !isQuoted) entries.push("");
    else entries[entries.length - 1] += text;
  }
  return entries;
}
