/** Says that a text is more than we are willing to judge; what cannot be judged must not run. */
export class LimitReached extends Error {
  override readonly name = "LimitReached";
}

/** How deep constructs, substitutions and texts for further shells may nest in each other, all together. */
export const MAX_DEPTH = 80;
// Honest commands need two or three steps for each character; only nesting needs more, and that is bounded by depth.
const STEPS_PER_CHARACTER = 60;
const STEPS_FREE = 500_000;

/** Counts the work of one reading and ends it when the text is too deep or asks for more than linear work. */
export class Meter {
  steps = 0;
  depth = 0;
  readonly #maxSteps: number;

  constructor(textLength: number) {
    this.#maxSteps = STEPS_FREE + textLength * STEPS_PER_CHARACTER;
  }

  step(count = 1): void {
    this.steps += count;
    if (this.steps > this.#maxSteps) throw new LimitReached("it expands to more than can be checked");
  }

  /** Runs `work` one level deeper. */
  within<T>(work: () => T): T {
    if (this.depth >= MAX_DEPTH)
      throw new LimitReached(`it nests more than ${MAX_DEPTH} constructs in each other`);
    this.depth += 1;
    try {
      return work();
    } finally {
      this.depth -= 1;
    }
  }
}
