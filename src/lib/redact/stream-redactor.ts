/** Longer than any secret that a stream may split, such as a private key. */
const CONTEXT = 32 * 1024;
const PIECE = 4 * CONTEXT;
/** Held text of this size that has no safe position to cut at, for instance inside a secret, is redacted as it is. */
const MAX_HELD = 1024 * 1024;
const CUTS = 16;

/** Redacts a stream, even where a secret is split between pieces; holds back the end that the next piece may change. */
export interface StreamRedactor {
  take(text: string): string;
  end(): string;
}

export function createStreamRedactor(redact: (text: string) => string): StreamRedactor {
  let held = "";

  /** Redacts and releases the first part of the held text, up to a cut that lies in no secret. */
  function release(): string {
    const whole = redact(held);
    for (const cut of findCuts(held)) {
      const head = redact(held.slice(0, cut));
      // Equal results mean that no secret spans the cut, and that neither part depends on the other.
      if (head + redact(held.slice(cut)) !== whole) continue;
      held = held.slice(cut);
      return head;
    }
    if (held.length < MAX_HELD) return "";
    held = "";
    return whole;
  }

  return {
    take(text) {
      let shown = "";
      for (let at = 0; at < text.length; at += PIECE) {
        held += text.slice(at, at + PIECE);
        if (held.length >= PIECE) shown += release();
      }
      return shown;
    },
    end() {
      const rest = redact(held);
      held = "";
      return rest;
    },
  };
}

/** Candidates for a cut, latest first: ends of lines, then any position. All have enough text after them. */
function findCuts(text: string): number[] {
  const last = text.length - CONTEXT;
  const lines: number[] = [];
  for (let at = text.lastIndexOf("\n", last - 1); at >= 0 && lines.length < CUTS; ) {
    lines.push(at + 1);
    at = at === 0 ? -1 : text.lastIndexOf("\n", at - 1);
  }
  const step = Math.floor(last / CUTS);
  const positions = Array.from({ length: CUTS }, (_, index) => last - index * step);
  return [...lines, ...positions].filter((cut) => cut > 0 && !/[\ud800-\udbff]/.test(text.charAt(cut - 1)));
}
