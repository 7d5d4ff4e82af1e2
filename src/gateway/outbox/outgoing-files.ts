import { randomBytes } from "node:crypto";
import { open } from "node:fs/promises";
import { extname, join } from "node:path";
import { createFolder, ensurePrivateFolder, syncFolder } from "../../lib/files/files.ts";
import { safeName } from "../inbox/stored-message.ts";
import type { OutboundPart } from "../platform.ts";

type FileContent = Extract<OutboundPart["content"], { readonly type: "file" }>;

/** Keeps a copy of a file until it is sent: what arrives is what was meant, whatever becomes of the original. */
export async function keepOutgoingFile(
  {
    name,
    bytes,
    caption,
  }: { readonly name: string; readonly bytes: Uint8Array; readonly caption?: string | undefined },
  cache: string,
): Promise<FileContent> {
  const folder = join(cache, randomBytes(6).toString("hex"));
  await ensurePrivateFolder(cache);
  await createFolder(folder);
  const safe = safeName(name);
  const path = join(folder, safe);
  await using file = await open(path, "wx", 0o600);
  await file.writeFile(bytes);
  await file.sync();
  await syncFolder(folder);
  return {
    type: "file",
    path,
    name: safe,
    mediaType: mediaTypeOf(safe),
    ...(caption !== undefined && { caption }),
  };
}

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  ".csv": "text/csv",
  ".gif": "image/gif",
  ".html": "text/html",
  ".jpeg": "image/jpeg",
  ".jpg": "image/jpeg",
  ".json": "application/json",
  ".m4a": "audio/mp4",
  ".md": "text/markdown",
  ".mp3": "audio/mpeg",
  ".mp4": "video/mp4",
  ".ogg": "audio/ogg",
  ".pdf": "application/pdf",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain",
  ".wav": "audio/wav",
  ".webp": "image/webp",
  ".zip": "application/zip",
};

function mediaTypeOf(name: string): string {
  return MEDIA_TYPES[extname(name).toLowerCase()] ?? "application/octet-stream";
}
