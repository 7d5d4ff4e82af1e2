import { chmod, type FileHandle, link, mkdir, open, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createSkipList, type HostPath } from "./copy-outcome.ts";
import { ArchiveRefused, type TarSink } from "./read-tar.ts";

export interface FolderUnpacker extends TarSink, AsyncDisposable {
  readonly files: number;
  readonly skipped: ReturnType<typeof createSkipList>;
  /** Makes the links and sets the modes of folders, which would be in the way before. */
  complete(): Promise<void>;
}

const MOST_ENTRIES = 5_000_000;

/**
 * Puts the entries of an archive that nobody vouches for below `root`, an empty folder of our own. A name that leads out
 * of it refuses the whole archive. Links are made when everything else is there, so that nothing is ever written through
 * one; those that lead out are left out, as are devices, FIFOs and sockets.
 */
export function openFolderUnpacker(root: HostPath): FolderUnpacker {
  const skipped = createSkipList();
  const regular = new Set<string>();
  const folderModes = new Map<string, number>();
  const links = new Map<string, string>();
  let file: { readonly handle: FileHandle; readonly mode: number } | undefined;
  let entries = 0;

  const place = (name: string): string => join(root, name);
  const inFolder = async (name: string): Promise<void> => {
    await refuseIfTaken(name, () => mkdir(dirname(place(name)), { recursive: true, mode: 0o700 }));
  };

  return {
    skipped,
    get files() {
      return regular.size;
    },
    async begin({ name: given, type, mode, linkName }) {
      if (++entries > MOST_ENTRIES) throw new ArchiveRefused("the archive has too many entries");
      const name = safeName(given);
      if (type === "folder") {
        await refuseIfTaken(name, () => mkdir(place(name), { recursive: true, mode: 0o700 }));
        folderModes.set(name, mode & 0o777);
      } else if (name === "") throw new ArchiveRefused("the archive is not one of a folder");
      else if (type === "file") {
        await inFolder(name);
        const handle = await refuseIfTaken(name, () => open(place(name), "wx", 0o600));
        file = { handle, mode: mode & 0o777 };
        regular.add(name);
      } else if (type === "hardlink") {
        const same = safeName(linkName);
        if (!regular.has(same)) throw new ArchiveRefused(`${name} is a second name of what is not there`);
        await inFolder(name);
        await refuseIfTaken(name, () => link(place(same), place(name)));
        regular.add(name);
      } else if (type === "symlink" && staysInside(name, linkName)) {
        await inFolder(name);
        if (links.has(name)) throw new ArchiveRefused(`${name} is in the archive twice`);
        links.set(name, linkName);
      } else skipped.add(name);
    },
    async write(bytes) {
      for (let at = 0; at < bytes.length && file !== undefined; ) {
        at += (await file.handle.write(bytes, at)).bytesWritten;
      }
    },
    async end() {
      const done = file;
      file = undefined;
      if (done === undefined) return;
      try {
        await done.handle.chmod(done.mode);
      } finally {
        await done.handle.close();
      }
    },
    async complete() {
      for (const [name, target] of links) await refuseIfTaken(name, () => symlink(target, place(name)));
      // Links are never among them, and the deepest come first.
      const modes = [...folderModes].toSorted(([one], [other]) => other.length - one.length);
      for (const [name, mode] of modes) await chmod(place(name), mode);
    },
    async [Symbol.asyncDispose]() {
      await file?.handle.close();
    },
  };
}

/** The name below the folder, `""` for the folder itself. */
function safeName(given: string): string {
  if (given.startsWith("/") || given.includes("\0"))
    throw new ArchiveRefused(`${given} leads out of the folder`);
  const parts = given.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes("..")) throw new ArchiveRefused(`${given} leads out of the folder`);
  return parts.join("/");
}

/**
 * Only at its beginning may a target go up, and no further than to the folder: behind another link, going up could lead
 * anywhere.
 */
function staysInside(name: string, target: string): boolean {
  if (target === "" || target.startsWith("/") || target.includes("\0")) return false;
  const parts = target.split("/").filter((part) => part !== "" && part !== ".");
  const down = parts.findIndex((part) => part !== "..");
  const ups = down === -1 ? parts.length : down;
  return ups <= name.split("/").length - 1 && !parts.slice(ups).includes("..");
}

async function refuseIfTaken<Result>(name: string, make: () => Promise<Result>): Promise<Result> {
  try {
    return await make();
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "EEXIST" || code === "ENOTDIR") throw new ArchiveRefused(`${name} is in the archive twice`);
    throw error;
  }
}
