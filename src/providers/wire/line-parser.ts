/** Splits a stream into lines. */
export function createLineParser({
  maxLength,
  onLine,
  onTooLong,
}: {
  readonly maxLength: number;
  onLine(line: string): void;
  onTooLong(): void;
}) {
  let rest = "";
  return {
    feed(text: string): void {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) onLine(line);
      if (rest.length > maxLength) onTooLong();
    },
  };
}
