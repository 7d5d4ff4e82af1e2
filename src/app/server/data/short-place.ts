import type { Profile } from "../../../profiles/profile.ts";

/** A place without the folder of the profile and without the column. */
export function shortPlace(where: string, { home }: Profile): string {
  return where.replaceAll(`${home}/`, "").replace(/(:\d+):\d+$/, "$1");
}
