import type { Setting } from "../../../../../src/api/contract/setup/settings.ts";
import { Select, TextArea, TextField } from "../../../components/controls/field.tsx";
import { pageWords } from "../../../words/page-words.ts";

const w = pageWords.settings;

interface SettingFieldProps {
  readonly setting: Setting;
  readonly text: string;
  readonly problem: string | undefined;
  readonly isLocked: boolean;
  readonly isSaving: boolean;
  onChange(text: string | null): void;
}

/** The field for the type of a setting. Any text can be typed, even one that the server will refuse. */
export function SettingField({ setting, text, problem, isLocked, isSaving, onChange }: SettingFieldProps) {
  const { key, type, isTextList, values, isNullable, expected } = setting;
  const shared = { label: key, bare: true, problem, disabled: isLocked, "aria-busy": isSaving || undefined };
  const isText = type === "string" && isNullable;
  const change = (next: string): void => onChange(isText && next === "" ? null : next);

  if (type === "enum" || type === "boolean") {
    const choices = type === "boolean" ? ["true", "false"] : (values ?? []);
    const labels: Readonly<Record<string, string>> =
      type === "boolean" ? { true: w.yes, false: w.no, "": w.notSet } : { "": w.notSet };
    const all = [...(isNullable ? [""] : []), ...choices];
    return (
      <Select
        {...shared}
        value={text}
        onChange={(event) => {
          if (!isSaving) change(event.target.value);
        }}
      >
        {!all.includes(text) && <option value={text}>{text}</option>}
        {all.map((choice) => (
          <option key={choice} value={choice}>
            {labels[choice] ?? choice}
          </option>
        ))}
      </Select>
    );
  }
  const typed = { readOnly: isSaving, spellCheck: false, autoComplete: "off" } as const;
  const lines = isTextList ? toLines(text) : undefined;
  if (lines !== undefined)
    return (
      <TextArea
        {...shared}
        {...typed}
        rows={2}
        hint={isLocked ? undefined : w.perLine}
        value={lines}
        onChange={({ target }) =>
          onChange(isNullable && target.value === "" ? null : fromLines(target.value))
        }
      />
    );
  if (type === "list" || type === "map" || type === "integer|map" || text.includes("\n"))
    return (
      <TextArea
        {...shared}
        {...typed}
        rows={2}
        hint={isLocked ? undefined : w.takes(expected)}
        value={text}
        onChange={(event) => change(event.target.value)}
      />
    );
  return (
    <TextField
      {...shared}
      {...typed}
      inputMode={type === "integer" ? "numeric" : type === "number" ? "decimal" : "text"}
      placeholder={isNullable ? w.notSet : undefined}
      value={text}
      onChange={(event) => change(event.target.value)}
    />
  );
}

/** The items of a JSON list of texts, one per line; undefined for any other text, such as an invalid one. */
function toLines(text: string): string | undefined {
  if (text === "") return "";
  try {
    const items: unknown = JSON.parse(text);
    const isLines =
      Array.isArray(items) && items.every((item) => typeof item === "string" && !item.includes("\n"));
    return isLines ? items.join("\n") : undefined;
  } catch {
    return undefined;
  }
}

/** Keeps empty lines, so that another line can be begun; `withoutEmptyLines` drops them. */
function fromLines(lines: string): string {
  return lines === "" ? "[]" : JSON.stringify(lines.split("\n"));
}
