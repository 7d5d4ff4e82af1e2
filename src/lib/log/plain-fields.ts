const DEEPEST = 8;
const MOST_ERRORS = 20;

/** A value ready for JSON, in which errors have become objects that tell all: message, code, stack and causes. */
export function plainFields(value: unknown, depth = 0): unknown {
  if (typeof value !== "object" || value === null || depth > DEEPEST) return value;
  if (value instanceof Error) return plainError(value, depth);
  if (Array.isArray(value)) return value.map((item) => plainFields(item, depth + 1));
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, plainFields(item, depth + 1)]),
  );
}

function plainError(error: Error, depth: number): object {
  const { name, message, stack, cause } = error;
  const code = "code" in error ? error.code : undefined;
  const errors = error instanceof AggregateError ? error.errors.slice(0, MOST_ERRORS) : undefined;
  return {
    name,
    message,
    ...(code === undefined ? {} : { code }),
    stack,
    ...(cause === undefined ? {} : { cause: plainFields(cause, depth + 1) }),
    ...(errors === undefined ? {} : { errors: plainFields(errors, depth + 1) }),
  };
}
