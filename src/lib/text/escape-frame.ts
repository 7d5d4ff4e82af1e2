/** Escapes tags in a text that is framed by `<tag>…</tag>`, so that the text cannot end the frame and pose as something else. */
export function escapeFrame(text: string, tag: string): string {
  return text.replace(new RegExp(`<(?=\\s*/?\\s*${tag}\\b)`, "gi"), "&lt;");
}
