import type { Trouble } from "../classify-failure.ts";

/** Ends a request with what went wrong, in our terms. */
export class TroubleError extends Error {
  override readonly name = "TroubleError";
  readonly trouble: Trouble;
  constructor(trouble: Trouble) {
    super(trouble.type);
    this.trouble = trouble;
  }
}
