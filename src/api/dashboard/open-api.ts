import { z } from "zod";
import { problemSchema } from "../contract/common.ts";
import { DASHBOARD_ROUTES } from "../dashboard-routes.ts";
import type { DashboardRoute } from "./dashboard-route.ts";

/** The routes of the dashboard as OpenAPI 3.1, computed from the table. */
export function describeOpenApi(version: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const row of DASHBOARD_ROUTES) {
    const path = row.path.replace(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [row.method.toLowerCase()]: describeRoute(row) };
  }
  return {
    openapi: "3.1.0",
    info: { title: "Hermes dashboard", version },
    paths,
    components: {
      schemas: { Problem: toJsonSchema(problemSchema, "output") },
      securitySchemes: { cookie: { type: "apiKey", in: "cookie", name: "hermes_<port>" } },
    },
  };
}

function describeRoute({ method, path, scope, summary, query, body, maxFileBytes, answer }: DashboardRoute) {
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    ...{ name, in: "path", required: true, schema: { type: "string" } },
  }));
  const isWrite = method !== "GET";
  const header = {
    ...{ name: "X-Hermes", in: "header", required: true, schema: { const: "1" } },
  };
  const content =
    maxFileBytes === undefined
      ? body && { "application/json": { schema: toJsonSchema(body, "input") } }
      : { "application/octet-stream": { schema: { type: "string", maxLength: maxFileBytes } } };
  const problem = {
    description: "Refused or failed",
    content: { "application/json": { schema: { $ref: "#/components/schemas/Problem" } } },
  };
  return {
    summary,
    "x-scope": scope,
    security: scope === "none" ? [] : [{ cookie: [] }],
    parameters: [...inPath, ...queryParameters(query), ...(isWrite ? [header] : [])],
    ...(content && { requestBody: { required: true, content } }),
    responses: {
      "2XX":
        answer === undefined
          ? { description: "Done" }
          : {
              description: "Done",
              content: { "application/json": { schema: toJsonSchema(answer, "output") } },
            },
      default: problem,
    },
  };
}

function queryParameters(query: z.ZodType | undefined): readonly object[] {
  if (query === undefined) return [];
  const { properties = {}, required = [] } = toJsonSchema(query, "input");
  return Object.entries(properties).map(([name, schema]) => ({
    ...{ name, in: "query", required: required.includes(name), schema },
  }));
}

interface JsonSchema {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
}

function toJsonSchema(schema: z.ZodType, io: "input" | "output"): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  return rest as JsonSchema;
}
