import type { Container } from "./container.ts";
import { flagValues } from "./extra-arguments.ts";
import { LABEL } from "./labels.ts";
import { parseJson } from "./parse-json.ts";
import { digestOf } from "./sandbox-names.ts";

/** What a container is made from, by setting, without any value that could be a secret. */
export type SpecFields = Readonly<Record<string, string | number | boolean | readonly string[]>>;

/** One setting in which a container differs from what is asked for. */
export interface FieldDrift {
  readonly field: string;
  readonly had: string;
  readonly wants: string;
}

/** The same for the same fields, in whatever order they were written. */
export function fingerprintOf(fields: SpecFields): string {
  return digestOf(serialiseFields(fields)).slice(0, 24);
}

export function serialiseFields(fields: SpecFields): string {
  return JSON.stringify(Object.fromEntries(Object.entries(fields).toSorted(([a], [b]) => (a < b ? -1 : 1))));
}

export interface ComparableSpec {
  readonly fields: SpecFields;
  readonly fingerprint: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly extraArguments: readonly string[];
}

export type ComparableContainer = Pick<Container, "labels" | "variables">;

/**
 * The settings in which a container differs from the spec. Fields that only one of the two knows are left out: they
 * come with another version of this program, not from a change of settings.
 */
export function findDrift(container: ComparableContainer, spec: ComparableSpec): FieldDrift[] {
  const drift = container.labels[LABEL.spec] === spec.fingerprint ? [] : differingFields(container, spec);
  return [...drift, ...differingVariables(container, spec)];
}

function differingFields(container: ComparableContainer, spec: ComparableSpec): FieldDrift[] {
  const had = parseJson(container.labels[LABEL.specFields] ?? "");
  if (typeof had !== "object" || had === null) {
    return [{ field: "spec", had: "unknown", wants: spec.fingerprint }];
  }
  return Object.entries(had).flatMap(([field, value]: [string, unknown]) => {
    const wants = spec.fields[field];
    if (wants === undefined || JSON.stringify(value) === JSON.stringify(wants)) return [];
    return [{ field, had: show(value), wants: show(wants) }];
  });
}

/** Values are compared with what the engine has, and stand nowhere else: a digest in a label could be guessed. */
function differingVariables(container: ComparableContainer, spec: ComparableSpec): FieldDrift[] {
  const overridden = new Set(
    flagValues(spec.extraArguments, "--env", "-e").map((assignment) => assignment.split("=")[0]),
  );
  const had = new Map(
    container.variables.map((line) => {
      const cut = line.indexOf("=");
      return [line.slice(0, cut), line.slice(cut + 1)];
    }),
  );
  return Object.entries(spec.environment).flatMap(([name, value]) => {
    // One that is missing altogether is a change of the names, which are a field.
    if (overridden.has(name) || !had.has(name) || had.get(name) === value) return [];
    return [{ field: `docker_env.${name}`, had: "another value", wants: "a new value" }];
  });
}

function show(value: unknown): string {
  if (!Array.isArray(value)) return String(value);
  return value.length === 0 ? "none" : value.join(", ");
}

/** The drift as part of a sentence. */
export function describeDrift(drift: readonly FieldDrift[]): string {
  return drift.map(({ field, had, wants }) => `${field} (has ${had}, wanted ${wants})`).join("; ");
}
