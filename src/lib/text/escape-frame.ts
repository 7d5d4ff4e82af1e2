/** Keeps a text from ending the frame `<tag>…</tag>` around it and posing as something else. */
export function escapeFrame(text: string, tag: string): string {
  return text.replace(new RegExp(`<(?=\\s*/?\\s*${tag}\\b)`, "gi"), "&lt;");
}
