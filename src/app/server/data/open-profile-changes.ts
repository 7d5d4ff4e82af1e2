import { existsSync } from "node:fs";
import type { Profile as ShownProfile } from "../../../api/contract/setup/profiles.ts";
import type { ProfileChanges } from "../../../api/dashboard/data/profile-changes.ts";
import type { SandboxData } from "../../../api/dashboard/data/sandbox-data.ts";
import { AppError } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log/log.ts";
import { requireNoPendingRename, withProfilesLock } from "../../../profiles/pending-rename.ts";
import { findActiveName, type Profile, requireProfile } from "../../../profiles/profile.ts";
import { loadProfileDescription, saveProfileDescription } from "../../../profiles/profile-description.ts";
import { DEFAULT_PROFILE, parseNewProfileName } from "../../../profiles/profile-name.ts";
import { activateProfile, createProfile } from "../../../profiles/profile-store.ts";
import type { App } from "../../app.ts";
import { findDefaultRoute } from "../../conversation.ts";
import { describeFailure } from "../../profiles/idle-boards.ts";
import { findSettingsNaming } from "../../profiles/profile-references.ts";
import { checkTasksLeft, type RemovedProfile, removeProfile } from "../../profiles/remove-profile.ts";
import { openGatewayRecords } from "../gateway-status.ts";
import type { LoadProfile } from "./load-profile.ts";
import type { OpenSessions } from "./open-sessions.ts";

interface ProfileChangeParts {
  readonly appOf: LoadProfile;
  readonly sessions: OpenSessions;
  readonly sandboxes: Pick<SandboxData, "list">;
  readonly log: Pick<Log, "info">;
}

/** Creates, describes and deletes the profiles of a home. */
export function openProfileChanges(
  app: App,
  { appOf, sessions, sandboxes, log }: ProfileChangeParts,
): ProfileChanges {
  const { root } = app.profile;
  const sources = { variables: app.variables };

  const requireUnprotected = (name: string): void => {
    const reason = protectedBecause(app, name);
    if (reason !== null) throw new AppError("profile-protected", reason);
  };
  return {
    async read(name, signal) {
      const owner = await appOf(name);
      const { profile, resolved } = owner;
      const { description, displayName } = await loadProfileDescription(profile);
      const route = findDefaultRoute(resolved);
      return {
        ...{ name: profile.name, displayName, description, home: profile.home },
        model: route instanceof AppError ? null : `${route.provider}:${route.model}`,
        backend: resolved.config.terminal.backend,
        isActive: profile.name === ((await findActiveName(root)) ?? DEFAULT_PROFILE),
        protectedBecause: protectedBecause(app, profile.name),
        ...(await countSessions(profile, sessions)),
        problems: resolved.problems.length,
        hasGateway: await isGatewayRunning(owner, signal),
      };
    },
    async create({ name, description, cloneFrom, everything = false, channels = false }, signal) {
      const wanted = parseNewProfileName(name);
      const source = cloneFrom === undefined ? undefined : await requireProfile(root, cloneFrom);
      const profile = await withProfilesLock(
        root,
        async () => {
          await requireNoPendingRename(root, wanted);
          return await createProfile(root, wanted, source && { source, everything, channels });
        },
        signal,
      );
      if (description !== undefined && description !== "")
        await saveProfileDescription(profile, { description }, signal);
      log.info("profile created", { profile: profile.name });
      return { name: profile.name };
    },
    async edit(name, { description, displayName }, signal) {
      const fields = {
        ...(description !== undefined && { description }),
        ...(displayName !== undefined && { displayName }),
      };
      await saveProfileDescription(await requireProfile(root, name), fields, signal);
    },
    async use(name) {
      await activateProfile(root, name);
    },
    async previewRemoval(name, signal) {
      const owner = await appOf(name);
      const { profile } = owner;
      const facts = {
        ...(await countSessions(profile, sessions)),
        sandboxes: await listSandboxNames(sandboxes, profile.name, signal),
        settings: (await findSettingsNaming(root, profile.name)).filter(
          (one) => one.profile !== profile.name,
        ),
        hasGateway: await isGatewayRunning(owner, signal),
        home: profile.home,
      };
      try {
        requireUnprotected(profile.name);
        const left = await checkTasksLeft(profile, { skipBoards: false }, sources, signal);
        return { ...facts, refusal: null, tasks: left.tasks.map(({ board, count }) => ({ board, count })) };
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        return { ...facts, refusal: { text: error.message, hint: error.hint }, tasks: [] };
      }
    },
    async remove(name, signal) {
      const profile = await requireProfile(root, name);
      requireUnprotected(profile.name);
      await sessions.close(profile.name);
      const removed = await removeProfile(profile, { now: false, skipBoards: false }, sources, signal);
      log.info("profile deleted", { profile: profile.name });
      return { keptIn: removed.keptIn ?? "", notes: [...describeRemoval(profile, removed)] };
    },
  };
}

function protectedBecause(app: App, name: string): string | null {
  if (name === DEFAULT_PROFILE) return "The default profile is the home itself, so it cannot be deleted.";
  return name === app.profile.name
    ? `The dashboard was started with the profile ${name}, so it cannot be deleted here.`
    : null;
}

async function countSessions(
  { name, sessionsPath }: Profile,
  sessions: OpenSessions,
): Promise<Pick<ShownProfile, "sessions" | "costUsd">> {
  if (!existsSync(sessionsPath)) return { sessions: 0, costUsd: 0 };
  const store = await sessions.open(name);
  const { costUsd } = store.usage.between(0, Number.MAX_SAFE_INTEGER);
  return { sessions: store.list.countMatching({ archived: true }), costUsd: costUsd ?? 0 };
}

async function isGatewayRunning(app: App, signal: AbortSignal): Promise<boolean> {
  if (!existsSync(app.profile.gatewayPath)) return false; // opening the records would create the file
  using records = await openGatewayRecords(app, signal);
  return (await records.findHolder(signal)) !== undefined;
}

async function listSandboxNames(
  sandboxes: ProfileChangeParts["sandboxes"],
  name: string,
  signal: AbortSignal,
): Promise<string[]> {
  try {
    const { rows } = await sandboxes.list(name, signal);
    return rows.filter(({ profile }) => profile === name).map((row) => row.name);
  } catch (error) {
    if (error instanceof AppError) return []; // the deletion reports an engine that cannot be reached
    throw error;
  }
}

function* describeRemoval(
  { name }: Profile,
  { left, sandboxes, settings }: RemovedProfile,
): Generator<string> {
  yield* sandboxes.problems;
  for (const { board, count } of left.tasks)
    yield `The board ${board} still has ${count} open ${count === 1 ? "task" : "tasks"} of ${name}.`;
  for (const failure of left.failed) yield `Not checked: ${describeFailure(failure)}.`;
  for (const { profile, key } of settings) yield `The setting ${key} of ${profile} still names ${name}.`;
}
