import type { IncomingMessage } from "node:http";

interface Part {
  readonly text?: string;
  readonly inlineData?: object;
  readonly functionCall?: { readonly name: string; readonly args?: unknown };
  readonly functionResponse?: { readonly name: string; readonly response: unknown };
  readonly thoughtSignature?: string;
}

interface Content {
  readonly role: string;
  readonly parts: readonly Part[];
}

const SCHEMA_FIELDS =
  "type format title description nullable enum maxItems minItems properties required minProperties maxProperties " +
  "minLength maxLength pattern example anyOf propertyOrdering default items minimum maximum";

/**
 * Finds what Gemini would refuse in a request, by the rules of its documentation and the errors that its users reported.
 * Tests cannot reach a server of Google, so these rules take its place.
 */
export function findGoogleProblem(request: IncomingMessage, body: object): string | undefined {
  const { contents, tools = [] } = body as {
    readonly contents?: readonly Content[];
    readonly tools?: readonly {
      readonly functionDeclarations: readonly { readonly parameters?: object }[];
    }[];
  };
  const { url = "" } = request;
  if (!/:streamGenerateContent\?(?:.*&)?alt=sse$/.test(url))
    return "the answer would be an array, not a stream";
  if (/[?&]key=/.test(url)) return "the key is in the address";
  if (!contents?.length) return "contents is not specified";
  const declarations = tools.flatMap(({ functionDeclarations }) => functionDeclarations);
  return [
    ...declarations.map(({ parameters }) => parameters && findSchemaProblem(parameters)),
    ...contents.map((content, index) => findContentProblem(content, contents[index - 1])),
  ].find((problem) => problem !== undefined);
}

function findContentProblem({ role, parts }: Content, before: Content | undefined): string | undefined {
  if (role !== "user" && role !== "model") return `Please use a valid role: user, model, not ${role}`;
  if (parts.length === 0) return "contents.parts must not be empty";
  const callsBefore = before?.parts.filter(({ functionCall }) => functionCall) ?? [];
  const results = parts.filter(({ functionResponse }) => functionResponse);
  if (results.length !== callsBefore.length)
    return "the number of function response parts must equal the number of function call parts of the turn before";
  if (results.some(({ functionResponse }) => typeof functionResponse?.response !== "object"))
    return "function_response.response must be a struct";
  const [firstCall] = parts.filter(({ functionCall }) => functionCall);
  if (firstCall && firstCall.thoughtSignature === undefined)
    return "Function call is missing a thought_signature in functionCall parts";
  return undefined;
}

function findSchemaProblem(schema: Readonly<Record<string, unknown>> | object): string | undefined {
  const {
    type,
    properties,
    items,
    anyOf = [],
    required = [],
    enum: values = [],
  } = schema as {
    readonly type?: string;
    readonly properties?: Readonly<Record<string, object>>;
    readonly items?: object;
    readonly anyOf?: readonly object[];
    readonly required?: readonly string[];
    readonly enum?: readonly unknown[];
  };
  const unknown = Object.keys(schema).find((name) => !SCHEMA_FIELDS.split(" ").includes(name));
  if (unknown !== undefined) return `Invalid JSON payload received. Unknown name "${unknown}"`;
  if (type === undefined && anyOf.length === 0) return "schema.type must be specified";
  if (properties && Object.keys(properties).length === 0)
    return "properties should be non-empty for OBJECT type";
  if (type === "array" && items === undefined) return "items: missing field";
  if (required.some((name) => !properties?.[name])) return "required: property is not defined";
  if (values.some((value) => typeof value !== "string")) return "enum: only allowed for STRING type";
  const inner = [...Object.values(properties ?? {}), ...(items ? [items] : []), ...anyOf];
  return inner.map(findSchemaProblem).find((problem) => problem !== undefined);
}
