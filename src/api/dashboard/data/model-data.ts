import type {
  DefaultModelSet,
  KeyEdit,
  KeysAnswer,
  KeyTest,
  ModelsAnswer,
} from "../../contract/setup/models.ts";

/** The models and keys of any profile of the home. Each function throws `profile-not-found`. */
export interface ModelData {
  /** The catalogue. `fresh` sends a request to each server; `stored` sends none. */
  models(profile: string, use: "fresh" | "stored", signal: AbortSignal): Promise<Omit<ModelsAnswer, "at">>;
  /** Throws `setting-fixed` if a flag or variable overrides the model. */
  setDefault(profile: string, model: string, signal: AbortSignal): Promise<DefaultModelSet>;
  keys(profile: string, signal: AbortSignal): Promise<Omit<KeysAnswer, "at">>;
  /** Stores a key of a provider or a secret setting, by its variable. Throws `key-exists`, `key-invalid` or `key-not-found`. */
  setKey(profile: string, variable: string, edit: KeyEdit, signal: AbortSignal): Promise<void>;
  removeKey(profile: string, variable: string, signal: AbortSignal): Promise<void>;
  /** Sends one request with a stored key of a provider. */
  testKey(profile: string, variable: string, signal: AbortSignal): Promise<KeyTest>;
}
