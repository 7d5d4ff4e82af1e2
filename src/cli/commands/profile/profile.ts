import type { Command } from "commander";
import { AppError } from "../../../lib/errors.ts";
import { ensurePrivateFolder } from "../../../lib/files/files.ts";
import type { CloneOptions } from "../../../profiles/fill-profile.ts";
import {
  commandOf,
  describePending,
  findPendingRename,
  requireNoPendingRename,
  withProfilesLock,
} from "../../../profiles/pending-rename.ts";
import { type Profile, requireProfile, resolveProfile, resolveRoot } from "../../../profiles/profile.ts";
import { loadProfileDescription, saveProfileDescription } from "../../../profiles/profile-description.ts";
import { parseNewProfileName } from "../../../profiles/profile-name.ts";
import { activateProfile, createProfile, listProfiles } from "../../../profiles/profile-store.ts";
import type { CommandContext, JsonOption } from "../../context.ts";
import { defineCommand, verbsOf, withExamples } from "../../define-command.ts";
import { byPerson } from "../../require-person.ts";
import { printFields, renderTable } from "../../terminal/table.ts";
import { reportProfile, rootFor, summarizeProfile } from "./profile-summary.ts";
import { type RemoveOptions, remove } from "./remove.ts";
import { type RenameOptions, rename } from "./rename.ts";

interface CreateOptions extends JsonOption {
  readonly clone?: boolean;
  readonly cloneFrom?: string;
  readonly cloneAll?: boolean;
  readonly cloneChannels?: boolean;
  readonly description?: string;
}

export function build(context: CommandContext): Command {
  const { terminal } = context;
  const profile = defineCommand(
    "hermes profile",
    "Create and manage profiles, each with its own settings, secrets and sessions.",
    terminal,
  );
  const add = verbsOf(profile, terminal, { json: true });
  add("list", "List profiles; * marks the active one.", ["hermes profile list"]).action((options) =>
    list(context, options),
  );
  add("show", "Show a profile (default: the active one).", ["hermes profile show work --json"])
    .argument("[name]")
    .action((name, options) => showProfile(context, name, options));
  add("create", "Create an empty profile, or copy another one.", [
    "hermes profile create work",
    "hermes profile create work-2 --clone-from work --description 'reviews code'",
  ])
    .argument("<name>")
    .option("--clone", "copy settings, secrets, persona, skills and memories from the active profile")
    .option("--clone-from <profile>", "copy them from this profile")
    .option("--clone-all", "copy everything except history")
    .option("--clone-channels", "also copy messaging accounts")
    .option("--description <text>", "what the profile is for")
    .action((name, options) => create(context, name, options));
  add("use", "Make a profile the default for later commands.", [
    "hermes profile use work",
    "hermes profile use default",
  ])
    .argument("<name>")
    .action(byPerson(context, (name: string, options: JsonOption) => use(context, name, options)));
  add("rename", "Rename a profile; it keeps its sandboxes and its tasks on all boards.", [
    "hermes profile rename work shop",
  ])
    .argument("<from>")
    .argument("<to>")
    .option("--skip-boards", "ignore boards that cannot be opened; their tasks keep the old name")
    .action(
      byPerson(context, (from: string, to: string, options: RenameOptions) =>
        rename(context, from, to, options),
      ),
    );
  add("describe", "Show or set the description of a profile.", [
    "hermes profile describe work --text 'reviews code'",
  ])
    .argument("<name>")
    .option("--text <text>", "new description")
    .action((name, options) => describe(context, name, options));
  add("delete", "Delete a profile; its data is kept for thirty days.", [
    "hermes profile delete work",
    "hermes profile delete work --yes",
  ])
    .argument("<name>")
    .option("-y, --yes", "skip the confirmation")
    .option("--now", "delete its data immediately")
    .option("--skip-boards", "ignore boards that cannot be opened; their tasks are not checked")
    .action(byPerson(context, (name: string, options: RemoveOptions) => remove(context, name, options)));
  return withExamples(profile, [
    "hermes profile create work",
    "hermes -p work config set terminal.backend docker",
    "hermes profile use work",
  ]);
}

async function list(context: CommandContext, { json }: JsonOption): Promise<void> {
  await notePending(context, rootFor(context));
  const profiles = await listProfiles(rootFor(context));
  const rows = await Promise.all(profiles.map((profile) => summarizeProfile(context, profile)));
  if (json) return context.terminal.printJson(rows);
  const cells = rows.map((row) => [
    `${row.active ? "*" : " "} ${row.name}`,
    row.model || "-",
    row.backend,
    row.description,
  ]);
  context.terminal.print(renderTable(["  NAME", "MODEL", "BACKEND", "DESCRIPTION"], cells, context.terminal));
}

async function showProfile(
  context: CommandContext,
  name: string | undefined,
  { json }: JsonOption,
): Promise<void> {
  const { terminal } = context;
  const profile =
    name === undefined ? await resolveProfile(context.choice) : await requireProfile(rootFor(context), name);
  const row = await summarizeProfile(context, profile);
  if (json) return terminal.printJson(row);
  printFields(terminal, [
    ["name", row.displayName ? `${row.name} (${row.displayName})` : row.name],
    ["active", row.active ? "yes" : "no"],
    ["id", row.id ?? "created on first use"],
    ["home", row.home],
    ["model", row.model || "not set"],
    ["backend", row.backend],
    ["description", row.description || "none"],
  ]);
}

async function create(context: CommandContext, name: string, options: CreateOptions): Promise<void> {
  const root = rootFor(context);
  const wanted = parseNewProfileName(name);
  const clone = await cloneOptions(context, options);
  await ensurePrivateFolder(root);
  const make = async (): Promise<Profile> => {
    await requireNoPendingRename(root, wanted);
    return createProfile(root, wanted, clone);
  };
  const profile = await withProfilesLock(root, make, context.signal);
  if (options.description !== undefined)
    await saveProfileDescription(profile, { description: options.description }, context.signal);
  await reportProfile(
    context,
    profile,
    options,
    `Created ${profile.name} in ${profile.home}. Use it with \`hermes -p ${profile.name} …\`.`,
  );
}

async function cloneOptions(
  context: CommandContext,
  options: CreateOptions,
): Promise<CloneOptions | undefined> {
  if (!options.clone && options.cloneFrom === undefined && !options.cloneAll) {
    if (options.cloneChannels)
      throw new AppError("usage-wrong", "--clone-channels needs --clone, --clone-from or --clone-all");
    return undefined;
  }
  const source =
    options.cloneFrom === undefined
      ? await resolveProfile(context.choice)
      : await requireProfile(rootFor(context), options.cloneFrom);
  return { source, everything: options.cloneAll ?? false, channels: options.cloneChannels ?? false };
}

async function use(context: CommandContext, name: string, options: JsonOption): Promise<void> {
  const profile = await activateProfile(rootFor(context), name);
  await reportProfile(context, profile, options, `Switched to the profile ${profile.name}.`);
  const { named } = resolveRoot(context.choice);
  if (named !== undefined && named !== profile.name) {
    context.terminal.note(`  This shell still uses ${named}, because HERMES_HOME is set.`);
  }
}

async function describe(
  context: CommandContext,
  name: string,
  options: JsonOption & { text?: string },
): Promise<void> {
  const profile = await requireProfile(rootFor(context), name);
  if (options.text !== undefined) {
    await saveProfileDescription(profile, { description: options.text }, context.signal);
    return reportProfile(context, profile, options, `Set the description of ${profile.name}.`);
  }
  const { description } = await loadProfileDescription(profile);
  if (options.json) context.terminal.printJson(await summarizeProfile(context, profile));
  else context.terminal.print(description || `${profile.name} has no description; set one with --text.`);
}

/** Warns about an unfinished rename, which a process that crashed may have left behind. */
async function notePending({ terminal }: CommandContext, root: string): Promise<void> {
  const pending = await findPendingRename(root);
  if (pending !== undefined)
    terminal.note(`hermes: warning: ${describePending(pending)}. Finish it with \`${commandOf(pending)}\`.`);
}
