import { stat } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, dirname, isAbsolute, join, relative, sep } from "node:path";
import { resolveLinks } from "../files/resolve-links.ts";
import { unlessMissing } from "../files/unless-missing.ts";

const SYSTEM = "/usr/bin:/bin";

/**
 * The PATH without relative folders and without folders of the project that contains `folder`. Merely inspecting a project
 * must not run its programs.
 */
export async function searchPathOutside(folder: string, path: string | undefined): Promise<string> {
  const project = await outermostProject(await resolveLinks(folder));
  const kept: string[] = [];
  for (const entry of (path ?? "").split(delimiter).filter(isAbsolute))
    if (!isWithin(entry, project) && !isWithin(await resolveLinks(entry), project)) kept.push(entry);
  return kept.join(delimiter) || SYSTEM; // an empty PATH would mean the working folder
}

/** The outermost folder with a repository, or the folder itself. A repository of the home folder is not one of the project. */
async function outermostProject(folder: string): Promise<string> {
  const home = await resolveLinks(homedir());
  let project = folder;
  for (let path = folder; path !== dirname(path) && path !== home; path = dirname(path))
    if (await unlessMissing(stat(join(path, ".git")))) project = path;
  return project;
}

function isWithin(path: string, folder: string): boolean {
  const below = relative(folder, path);
  return below !== ".." && !below.startsWith(`..${sep}`);
}
