import type { Command } from "commander";
import { AppError } from "../../lib/errors.ts";
import { ensurePrivateFolder } from "../../lib/files.ts";
import type { CloneOptions } from "../../profiles/fill-profile.ts";
import { type Profile, requireProfile, resolveProfile, rootOf } from "../../profiles/profile.ts";
import { loadProfileCard, saveProfileCard } from "../../profiles/profile-card.ts";
import { parseNewProfileName } from "../../profiles/profile-name.ts";
import { activateProfile, createProfile, listProfiles } from "../../profiles/profile-store.ts";
import type { CommandContext } from "../context.ts";
import { defineCommand, withExamples } from "../define-command.ts";
import { requirePerson } from "../require-person.ts";
import { renderTable } from "../table.ts";
import {
  commandOf,
  describePending,
  findPendingRename,
  requireNoPendingRename,
  withProfilesLock,
} from "./profile/pending-rename.ts";
import { activeName, choiceOf, type JsonOption, rootFor, summary, tell } from "./profile/profile-desk.ts";
import { type RemoveOptions, remove } from "./profile/remove.ts";
import { type RenameOptions, rename } from "./profile/rename.ts";

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
  withExamples(add("list", "List the profiles; * marks the active one."), ["hermes profile list"]).action(
    (options) => list(context, options),
  );
  withExamples(add("show", "Show one profile, by default the active one."), [
    "hermes profile show work --json",
  ])
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
  withExamples(add("use", "Make a profile the one that later commands run as."), [
    "hermes profile use work",
    "hermes profile use default",
  ])
    .argument("<name>")
    .action((name, options) => {
      requirePerson({ context });
      return use(context, name, options);
    });
  withExamples(
    add("rename", "Give a profile another name; its sandboxes and its tasks on all boards stay with it.")
      .argument("<from>")
      .argument("<to>")
      .option("--skip-boards", "also when boards cannot be opened; tasks there keep the old name")
      .action((from: string, to: string, options: RenameOptions) => {
        requirePerson({ context });
        return rename(context, from, to, options);
      }),
    ["hermes profile rename work shop"],
  );
  withExamples(add("describe", "Show or set what a profile is good at."), [
    "hermes profile describe work --text 'reviews code'",
  ])
    .argument("<name>")
    .option("--text <text>", "the new description")
    .action((name, options) => describe(context, name, options));
  withExamples(
    add("delete", "Move a profile aside; it is kept for thirty days.")
      .argument("<name>")
      .option("-y, --yes", "do not ask for the name")
      .option("--now", "remove it for good at once")
      .option("--skip-boards", "also when boards cannot be opened; tasks there are not looked for")
      .action((name: string, options: RemoveOptions) => {
        requirePerson({ context });
        return remove(context, name, options);
      }),
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
  await notePending(context, rootFor(context));
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
  const wanted = parseNewProfileName(name);
  const clone = await cloneOptions(context, options);
  await ensurePrivateFolder(root);
  const make = async (): Promise<Profile> => {
    await requireNoPendingRename(root, wanted);
    return createProfile(root, wanted, clone);
  };
  const profile = await withProfilesLock(root, make, context.signal);
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

function current(context: CommandContext): Promise<Profile> {
  return resolveProfile(choiceOf(context));
}

/** A process that died may have left one behind; nobody else would say so. */
async function notePending({ terminal }: CommandContext, root: string): Promise<void> {
  const pending = await findPendingRename(root);
  if (pending !== undefined)
    terminal.note(`hermes: warning: ${describePending(pending)}. Finish it with \`${commandOf(pending)}\`.`);
}
