import type { z } from "zod";
import { ApiError } from "./api-error.ts";

const MAX_BODY_BYTES = 10 * 1024 * 1024;
/** Schemas of functions are nested, so this is more than messages need. */
const MAX_DEPTH = 32;

/** Reads a JSON body and checks it; whatever length the client states, at most 10 MiB are read. */
export async function parseBody(request: Request, schema: z.ZodType): Promise<unknown> {
  requireType(request, /^application\/json\b/i, "application/json");
  const bytes = await readBody(request, MAX_BODY_BYTES);
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch {
    throw new ApiError(400, "invalid_json", "The body is not JSON.");
  }
  if (isDeeper(value, MAX_DEPTH))
    throw new ApiError(400, "body_too_deep", `The body has more than ${MAX_DEPTH} levels.`);
  return requireShape(schema, value, "The body");
}

/** Reads a body that is a file. */
export async function readFileBody(request: Request, maxBytes: number): Promise<Buffer> {
  requireType(request, /^application\/octet-stream\b/i, "application/octet-stream");
  return await readBody(request, maxBytes);
}

/** Throws `invalid_request` for a value that does not fit; `what` names the value as a whole. */
export function requireShape(schema: z.ZodType, value: unknown, what: string): unknown {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const param = issue?.path.join(".");
  const message = `${param || what}: ${issue?.message ?? "is not valid"}.`;
  throw new ApiError(400, "invalid_request", message, param);
}

/** A browser does not let a foreign page send these types without a preflight request. */
function requireType({ headers }: Request, type: RegExp, name: string): void {
  if (!type.test(headers.get("Content-Type") ?? ""))
    throw new ApiError(415, "unsupported_media_type", `Send the body as ${name}.`);
}

async function readBody({ body, headers }: Request, maxBytes: number): Promise<Buffer> {
  const tooLarge = () =>
    new ApiError(413, "body_too_large", `The body has more than ${maxBytes / 1024 / 1024} MiB.`);
  if (Number(headers.get("Content-Length")) > maxBytes) throw tooLarge();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((child) => isDeeper(child, levels - 1));
}
