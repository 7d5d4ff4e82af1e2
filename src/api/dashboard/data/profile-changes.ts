import type {
  CreatedProfile,
  NewProfile,
  Profile,
  ProfileEdit,
  ProfileRemoval,
  RemovedProfile,
} from "../../contract/setup/profiles.ts";

/** Creates, describes and deletes the profiles of the home. Each function throws `profile-not-found`. */
export interface ProfileChanges {
  read(profile: string, signal: AbortSignal): Promise<Omit<Profile, "at">>;
  /** Throws `profile-exists` or `profile-name-invalid`. */
  create(profile: NewProfile, signal: AbortSignal): Promise<CreatedProfile>;
  edit(profile: string, edit: ProfileEdit, signal: AbortSignal): Promise<void>;
  /** Makes a profile the default of later commands. */
  use(profile: string): Promise<void>;
  previewRemoval(profile: string, signal: AbortSignal): Promise<ProfileRemoval>;
  /** Throws without deleting anything if the profile is in use. */
  remove(profile: string, signal: AbortSignal): Promise<RemovedProfile>;
}
