import { useQuery } from "@tanstack/react-query";
import type { ChatMode } from "../../../../src/api/contract/chat.ts";
import { Picker } from "../../components/controls/picker.tsx";
import { plainText } from "../../components/text/plain-text.ts";
import { useApi } from "../../data/app-data.tsx";
import { pageWords } from "../../words/page-words.ts";
import { choicesQuery } from "./chat-queries.ts";
import styles from "./choices.module.css";
import type { ComposerState } from "./use-composer.ts";

const w = pageWords.chat;
const MODES: readonly ChatMode[] = ["manual", "smart", "off", "plan"];

/** What the next message is answered with: the model, who is asked, and where commands run. */
export function Choices({
  composer,
  profile,
}: {
  readonly composer: ComposerState;
  readonly profile: string;
}) {
  const { data } = useQuery(choicesQuery(useApi(), profile));
  const { model, mode, chooseModel, chooseMode, isAdmin } = composer;
  if (data === undefined) return null;
  const models = model === null || data.models.includes(model) ? data.models : [model, ...data.models];
  return (
    <div className={styles.choices}>
      <Picker
        label={w.model}
        text={model === null ? w.noModel : shortName(model)}
        options={models.map((name) => ({ value: name, label: name }))}
        chosen={model === null ? [] : [model]}
        placeholder={w.chooseModel}
        none={w.noModels}
        free
        onChoose={([name]) => name !== undefined && chooseModel(name)}
      />
      <select
        aria-label={w.mode}
        className={mode === "plan" || mode === "off" ? styles.marked : undefined}
        value={mode}
        onChange={({ target }) => chooseMode(target.value as ChatMode)}
      >
        {MODES.map((name) => {
          const isRefused = name === "off" && !isAdmin && mode !== "off";
          return (
            <option key={name} value={name} disabled={isRefused}>
              {isRefused ? w.needsAdmin(w.modes[name]) : w.modes[name]}
            </option>
          );
        })}
      </select>
      <span className={`${styles.where} clip`} title={plainText(data.cwd)}>
        {w.where(data.environment, plainText(data.cwd))}
      </span>
    </div>
  );
}

/** The last part of a long name, such as the file of a scripted model. */
const shortName = (model: string): string => plainText(model.split("/").at(-1) ?? model);
