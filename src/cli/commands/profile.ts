import { rm } from "node:fs/promises";
import type { Command } from "commander";
import { loadConfig } from "../../config/load.ts";
import { AppError } from "../../lib/errors.ts";
import type { CloneOptions } from "../../profiles/fill-profile.ts";
import { type Profile, requireProfile, resolveProfile, rootOf } from "../../profiles/profile.ts";
import { loadProfileCard, saveProfileCard } from "../../profiles/profile-card.ts";
import { findProfileId } from "../../profiles/profile-id.ts";
import { DEFAULT_PROFILE, parseProfileName } from "../../profiles/profile-name.ts";
import {
  activateProfile,
  createProfile,
  deleteProfile,
  listProfiles,
  renameProfile,
} from "../../profiles/profile-store.ts";
import type { CommandContext } from "../context.ts";
import { defineCommand, withExamples } from "../define-command.ts";
import { renderTable } from "../table.ts";

interface JsonOption {
  readonly json?: boolean;
}
interface CreateOptions extends JsonOption {
  readonly clone?: boolean;
  readonly cloneFrom?: string;
  readonly cloneAll?: boolean;
  readonly cloneChannels?: boolean;
  readonly description?: string;
}

/** `hermes profile`: separate identities, each with its own settings, secrets, sessions and logs. */
export function build(context: CommandContext): Command {
  const { terminal } = context;
  const profile = defineCommand("hermes profile", "Manage separate identities on this machine.", terminal);
  const add = (name: string, description: string): Command => {
    const command = defineCommand(name, description, terminal).option("--json", "print JSON");
    profile.addCommand(command);
    return command;
  };
  add("list", "List the profiles; * marks the active one.").action((options) => list(context, options));
  add("show", "Show one profile, by default the active one.")
    .argument("[name]")
    .action((name, options) => show(context, name, options));
  withExamples(
    add("create", "Create a profile: blank, or as a copy of another.")
      .argument("<name>")
      .option("--clone", "copy settings, secrets, persona, skills and memories of the active profile")
      .option("--clone-from <profile>", "copy them from this profile")
      .option("--clone-all", "copy everything but history")
      .option("--clone-channels", "also copy messaging accounts")
      .option("--description <text>", "what the profile is good at")
      .action((name, options) => create(context, name, options)),
    [
      "hermes profile create work",
      "hermes profile create work-2 --clone-from work --description 'reviews code'",
    ],
  );
  add("use", "Make a profile the one that later commands run as.")
    .argument("<name>")
    .action((name, options) => use(context, name, options));
  add("rename", "Give a profile another name; its sandboxes stay with it.")
    .argument("<from>")
    .argument("<to>")
    .action((from, to, options) => renameCommand(context, from, to, options));
  add("describe", "Show or set what a profile is good at.")
    .argument("<name>")
    .option("--text <text>", "the new description")
    .action((name, options) => describe(context, name, options));
  withExamples(
    add("delete", "Move a profile aside; it is kept for thirty days.")
      .argument("<name>")
      .option("-y, --yes", "do not ask for the name")
      .option("--now", "remove it for good at once")
      .action((name, options) => remove(context, name, options)),
    ["hermes profile delete work", "hermes profile delete work --yes"],
  );
  return withExamples(profile, [
    "hermes profile create work",
    "hermes -p work config set terminal.backend docker",
    "hermes profile use work",
  ]);
}

async function list(context: CommandContext, { json }: JsonOption): Promise<void> {
  const active = await activeName(context);
  const rows = await Promise.all(
    (await listProfiles(rootFor(context))).map((profile) => summary(profile, active)),
  );
  if (json) return context.terminal.printJson(rows);
  const cells = rows.map((row) => [
    `${row.active ? "*" : " "} ${row.name}`,
    row.model || "-",
    row.backend,
    row.description,
  ]);
  context.terminal.print(renderTable(["  NAME", "MODEL", "BACKEND", "DESCRIPTION"], cells, context.terminal));
}

async function show(context: CommandContext, name: string | undefined, { json }: JsonOption): Promise<void> {
  const { terminal } = context;
  const profile = name === undefined ? await current(context) : await requireProfile(rootFor(context), name);
  const row = await summary(profile, await activeName(context));
  if (json) return terminal.printJson(row);
  const lines: [string, string][] = [
    ["name", row.displayName ? `${row.name} (${row.displayName})` : row.name],
    ["active", row.active ? "yes" : "no"],
    ["id", row.id ?? "made when first needed"],
    ["home", row.home],
    ["model", row.model || "not set"],
    ["backend", row.backend],
    ["description", row.description || "none"],
  ];
  for (const [label, value] of lines) terminal.print(`${label.padEnd(13)}${value}`);
}

async function create(context: CommandContext, name: string, options: CreateOptions): Promise<void> {
  const root = rootFor(context);
  const profile = await createProfile(root, name, await cloneOptions(context, options));
  if (options.description !== undefined)
    await saveProfileCard(profile, { description: options.description }, context.signal);
  await tell(
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
      ? await current(context)
      : await requireProfile(rootFor(context), options.cloneFrom);
  return { source, everything: options.cloneAll ?? false, channels: options.cloneChannels ?? false };
}

async function use(context: CommandContext, name: string, options: JsonOption): Promise<void> {
  const profile = await activateProfile(rootFor(context), name);
  await tell(context, profile, options, `Later commands run as ${profile.name}.`);
  const { named } = rootOf(choiceOf(context));
  if (named !== undefined && named !== profile.name) {
    context.terminal.note(`  Not in this shell: HERMES_HOME names the profile ${named}.`);
  }
}

async function renameCommand(
  context: CommandContext,
  from: string,
  to: string,
  options: JsonOption,
): Promise<void> {
  const root = rootFor(context);
  if (parseProfileName(from) === DEFAULT_PROFILE) {
    const profile = await requireProfile(root, from);
    await saveProfileCard(profile, { displayName: to.trim() }, context.signal);
    return tell(
      context,
      profile,
      options,
      `The default profile keeps its name and is now shown as ${to.trim()}.`,
    );
  }
  const profile = await renameProfile(root, from, to);
  await tell(context, profile, options, `Renamed to ${profile.name}.`);
}

async function describe(
  context: CommandContext,
  name: string,
  options: JsonOption & { text?: string },
): Promise<void> {
  const profile = await requireProfile(rootFor(context), name);
  if (options.text !== undefined) {
    await saveProfileCard(profile, { description: options.text }, context.signal);
    return tell(context, profile, options, `Described ${profile.name}.`);
  }
  const { description } = await loadProfileCard(profile);
  if (options.json) context.terminal.printJson(await summary(profile, await activeName(context)));
  else context.terminal.print(description || `${profile.name} has no description; set one with --text.`);
}

async function remove(
  context: CommandContext,
  name: string,
  options: JsonOption & { yes?: boolean; now?: boolean },
): Promise<void> {
  const { terminal, signal } = context;
  const profile = await requireProfile(rootFor(context), name);
  if (profile.name !== DEFAULT_PROFILE && !options.yes) {
    const typed = await terminal.ask(
      `Type ${profile.name} to delete it with its settings, secrets and sessions: `,
      signal,
    );
    if (typed === undefined)
      throw new AppError("confirmation-missing", `Deleting ${profile.name} needs a yes.`);
    if (typed.trim() !== profile.name)
      throw new AppError("confirmation-missing", "That was not the name; nothing was deleted.");
  }
  const aside = await deleteProfile(profile.root, profile.name, new Date());
  if (options.now) await rm(aside, { recursive: true, force: true });
  const fate = options.now
    ? "Removed for good."
    : `It is kept for thirty days in ${aside}; move it back to ${profile.home} to restore it.`;
  if (options.json)
    terminal.printJson({ name: profile.name, deleted: true, kept_in: options.now ? null : aside });
  else terminal.note(`Deleted ${profile.name}. ${fate}`);
}

async function summary(profile: Profile, active: string | undefined) {
  const card = await loadProfileCard(profile);
  const { config } = await loadConfig({
    configPath: profile.configPath,
    envPath: profile.envPath,
    variables: {},
    flags: new Map(),
  });
  return {
    name: profile.name,
    active: profile.name === active,
    id: (await findProfileId(profile)) ?? null,
    home: profile.home,
    description: card.description,
    displayName: card.displayName,
    model: config.model.default,
    backend: config.terminal.backend,
  };
}

async function tell(
  context: CommandContext,
  profile: Profile,
  { json }: JsonOption,
  sentence: string,
): Promise<void> {
  if (json) context.terminal.printJson(await summary(profile, await activeName(context)));
  else context.terminal.note(sentence);
}

function choiceOf({ flags, variables, userHome }: CommandContext) {
  return { flag: flags.profile, hermesHome: variables["HERMES_HOME"], userHome };
}

function rootFor(context: CommandContext): string {
  return rootOf(choiceOf(context)).root;
}

function current(context: CommandContext): Promise<Profile> {
  return resolveProfile(choiceOf(context));
}

/** The active profile's name; undefined when the choice names one that is gone, which `list` must survive. */
async function activeName(context: CommandContext): Promise<string | undefined> {
  try {
    return (await current(context)).name;
  } catch (error) {
    if (error instanceof AppError && error.code === "profile-not-found") return undefined;
    throw error;
  }
}
