import { chmod, type FileHandle, link, mkdir, open, symlink } from "node:fs/promises";
import { errnoOf } from "../../../lib/errors.ts";
import { createSkipList, type HostPath } from "./copy-outcome.ts";
import { ArchiveRefused } from "./read-tar.ts";
import { type ByteString, bytesOf, readableName, type TarEntry } from "./tar-header.ts";

const MAX_ENTRIES = 5_000_000;

/**
 * Unpacks an untrusted archive below `root`, an empty folder that only this process uses. Refuses the whole archive if a
 * name leads outside. Creates links last, so that no file is written through a link. Skips links that lead outside,
 * devices, FIFOs and sockets.
 */
export function openFolderUnpacker(root: HostPath) {
  const skipped = createSkipList();
  const regular = new Set<ByteString>();
  const folderModes = new Map<ByteString, number>();
  const links = new Map<ByteString, ByteString>();
  let file: { readonly handle: FileHandle; readonly mode: number } | undefined;
  let entries = 0;
  let written = 0;

  const pathOf = (name: ByteString): Buffer => Buffer.concat([Buffer.from(`${root}/`), bytesOf(name)]);
  const ensureParent = async (name: ByteString): Promise<void> => {
    const parent = name.slice(0, Math.max(0, name.lastIndexOf("/")));
    await refuseIfTaken(name, () => mkdir(pathOf(parent), { recursive: true, mode: 0o700 }));
  };

  return {
    skipped,
    get files(): number {
      return regular.size;
    },
    /** The size of all file contents. */
    get bytes(): number {
      return written;
    },
    async begin({ name: given, type, mode, linkName }: TarEntry): Promise<void> {
      if (++entries > MAX_ENTRIES) throw new ArchiveRefused("the archive has too many entries");
      const name = safeName(given);
      if (type === "folder") {
        await refuseIfTaken(name, () => mkdir(pathOf(name), { recursive: true, mode: 0o700 }));
        folderModes.set(name, mode & 0o777);
      } else if (name === "") throw new ArchiveRefused("the archive does not contain a folder");
      else if (type === "file") {
        await ensureParent(name);
        const handle = await refuseIfTaken(name, () => open(pathOf(name), "wx", 0o600));
        file = { handle, mode: mode & 0o777 };
        regular.add(name);
      } else if (type === "hardlink") {
        const same = safeName(linkName);
        if (!regular.has(same))
          throw new ArchiveRefused(`${readableName(name)} is a hard link to a missing file`);
        await ensureParent(name);
        await refuseIfTaken(name, () => link(pathOf(same), pathOf(name)));
        regular.add(name);
      } else if (type === "symlink" && staysInside(name, linkName)) {
        await ensureParent(name);
        if (links.has(name)) throw new ArchiveRefused(`${readableName(name)} is in the archive twice`);
        links.set(name, linkName);
      } else skipped.add(readableName(name));
    },
    async write(bytes: Uint8Array): Promise<void> {
      await file?.handle.writeFile(bytes); // appends at the current position
      written += bytes.length;
    },
    async end(): Promise<void> {
      const done = file;
      file = undefined;
      if (done === undefined) return;
      try {
        await done.handle.chmod(done.mode);
      } finally {
        await done.handle.close();
      }
    },
    /** Creates the links and sets the modes of folders, which could block or redirect earlier writes. */
    async complete(): Promise<void> {
      for (const [name, target] of links)
        await refuseIfTaken(name, () => symlink(bytesOf(target), pathOf(name)));
      // Folders only, never links; the deepest first.
      const modes = [...folderModes].toSorted(([one], [other]) => other.length - one.length);
      for (const [name, mode] of modes) await chmod(pathOf(name), mode);
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await file?.handle.close();
    },
  };
}

/** The name below the folder, `""` for the folder itself. */
function safeName(given: ByteString): ByteString {
  if (given.startsWith("/") || given.includes("\0"))
    throw new ArchiveRefused(`${readableName(given)} leads out of the folder`);
  const parts = given.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes("..")) throw new ArchiveRefused(`${readableName(given)} leads out of the folder`);
  return parts.join("/");
}

/**
 * A target may contain `..` only at its beginning and may not leave the folder. After another link, `..` could lead
 * anywhere.
 */
function staysInside(name: ByteString, target: ByteString): boolean {
  if (target === "" || target.startsWith("/") || target.includes("\0")) return false;
  const parts = target.split("/").filter((part) => part !== "" && part !== ".");
  const firstDown = parts.findIndex((part) => part !== "..");
  const ups = firstDown === -1 ? parts.length : firstDown;
  return ups <= name.split("/").length - 1 && !parts.slice(ups).includes("..");
}

async function refuseIfTaken<Result>(name: ByteString, create: () => Promise<Result>): Promise<Result> {
  try {
    return await create();
  } catch (error) {
    if (["EEXIST", "ENOTDIR"].includes(errnoOf(error) ?? ""))
      throw new ArchiveRefused(`${readableName(name)} is in the archive twice`);
    throw error;
  }
}
