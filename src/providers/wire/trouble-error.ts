import type { RequestTrouble } from "../failures/classify-failure.ts";

/** An error that ends a request and describes what went wrong. */
export class TroubleError extends Error {
  override readonly name = "TroubleError";
  readonly trouble: RequestTrouble;
  constructor(trouble: RequestTrouble) {
    super(trouble.type);
    this.trouble = trouble;
  }
}
