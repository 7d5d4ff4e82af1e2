import { parseJson } from "../engine/parse-json.ts";
import type { Container } from "../lifecycle/container.ts";
import { flagValues } from "./extra-arguments.ts";
import { LABEL } from "./labels.ts";
import { digestOf } from "./sandbox-names.ts";

/** The settings that a container was created with, without values that could be secret. */
export type SpecFields = Readonly<Record<string, string | number | boolean | readonly string[]>>;

/** One setting in which a container differs from the spec. */
export interface FieldDrift {
  readonly field: string;
  readonly had: string;
  readonly wants: string;
}

/** Equal fields have the same fingerprint, in any order. */
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
 * Finds the settings in which a container differs from the spec. Fields that only one of the two has are ignored: they
 * come from another version of this program, not from changed settings.
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
    return [{ field, had: formatDifference(value, wants), wants: formatDifference(wants, value) }];
  });
}

/** Compares values with those in the container, because they are stored nowhere else: a digest could be guessed. */
function differingVariables(container: ComparableContainer, spec: ComparableSpec): FieldDrift[] {
  const overridden = new Set(
    flagValues(spec.extraArguments, "--env", "-e").map((assignment) => assignment.split("=")[0]),
  );
  const had = new Map(
    container.variables.map((line) => {
      const separator = line.indexOf("=");
      return [line.slice(0, separator), line.slice(separator + 1)];
    }),
  );
  return Object.entries(spec.environment).flatMap(([name, value]) => {
    // A missing variable is already reported by the field `docker_env`, which contains the names.
    if (overridden.has(name) || !had.has(name) || had.get(name) === value) return [];
    return [{ field: `docker_env.${name}`, had: "another value", wants: "a new value" }];
  });
}

/** Of two lists with common entries, only the others are named: a list of mounts is long. */
function formatDifference(value: unknown, other: unknown): string {
  if (!Array.isArray(value) || !Array.isArray(other)) return formatValue(value);
  const own = value.filter((entry) => !other.includes(entry));
  if (own.length > 0) return formatValue(own);
  const isReordered = other.every((entry) => value.includes(entry));
  return isReordered || value.length === 0 ? formatValue(value) : "none of these";
}

function formatValue(value: unknown): string {
  if (!Array.isArray(value)) return String(value);
  return value.length === 0 ? "none" : value.join(", ");
}

/** Formats the drift as part of a sentence. */
export function describeDrift(drift: readonly FieldDrift[]): string {
  return drift.map(({ field, had, wants }) => `${field} (has ${had}, wanted ${wants})`).join("; ");
}
