/** Thrown when a text is too complex to check; a command that cannot be checked must not run. */
export class LimitReached extends Error {
  override readonly name = "LimitReached";
}

/** Maximum combined nesting depth of constructs, substitutions and texts for other shells. */
export const MAX_DEPTH = 80;
// Ordinary commands need two or three steps per character; only nesting needs more, and its depth is bounded.
const STEPS_PER_CHARACTER = 60;
const STEPS_FREE = 500_000;
// The parser reads each character of an ordinary command three or four times.
const READS_PER_CHARACTER = 40;
const READS_FREE = 400_000;

/** Counts the work of reading one text, and throws if the text nests too deeply or needs more than linear work. */
export class Meter {
  steps = 0;
  depth = 0;
  readonly #maxSteps: number;
  #readsLeft: number;

  constructor(textLength: number) {
    this.#maxSteps = STEPS_FREE + textLength * STEPS_PER_CHARACTER;
    this.#readsLeft = READS_FREE + textLength * READS_PER_CHARACTER;
  }

  /** Charges for one character that the parser reads. */
  read(): void {
    this.#readsLeft -= 1;
    if (this.#readsLeft < 0) throw new LimitReached("parsing it takes more work than its length allows");
  }

  step(count = 1): void {
    this.steps += count;
    if (this.steps > this.#maxSteps) throw new LimitReached("it expands to more than can be checked");
  }

  /** Runs `work` one level deeper. */
  within<T>(work: () => T): T {
    if (this.depth >= MAX_DEPTH)
      throw new LimitReached(`it nests constructs more than ${MAX_DEPTH} levels deep`);
    this.depth += 1;
    try {
      return work();
    } finally {
      this.depth -= 1;
    }
  }
}
