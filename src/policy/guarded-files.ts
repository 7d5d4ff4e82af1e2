import { posix } from "node:path";
import { findCredential, isEnvFile } from "./commands/sensitive-paths.ts";

/**
 * Refuses files that no rule, answer or yolo mode makes available to file tools and references. Each method returns the
 * refusal for the model, or undefined if the file may be used. Commands that use such files fall into built-in classes.
 */
export interface FileGuards {
  /** Takes a path without symbolic links. */
  read(path: string): string | undefined;
  /** Takes a path without symbolic links. */
  write(path: string): string | undefined;
  /** Whether people on a messaging platform may get the file. Takes a path without symbolic links. */
  send(path: string): string | undefined;
}

export interface GuardFacts {
  /** The home of the profile; several paths if symbolic links lead to it. */
  readonly homes: readonly string[];
  /** The only folders in which files may be changed; empty means all. */
  readonly writeRoots: readonly string[];
  /** The only folders from which files may be sent; undefined means all, as in a sandbox. */
  readonly sendRoots?: readonly string[] | undefined;
}

/** Databases, trusted rules, checkpoints and hooks. Only Hermes may change them. */
const STATE = /(?:^|\/)[^/]+\.sqlite(?:-wal|-shm|-journal)?$|^(?:trusted-rules|checkpoints|hooks)(?:\/|$)/;
/** Folders with files that people have sent and files that the agent has created. */
const SENDABLE = /^(?:cache|(?:.*\/)?workspaces|sandboxes)(?:\/|$)/;
const SYSTEM =
  /^\/(?:etc|proc|sys|dev|boot|root\/\.[^/]+|var\/lib)(?:\/|$)|^\/(?:home|Users)\/[^/]+\/\.[^/]+(?:\/|$)/;
/** Folders that the agents of several profiles share. */
const SHARED_WORK = /^(?:cache|logs|sandboxes|(?:.*\/)?workspaces)(?:\/|$)/;
const SSH_CONFIG = /\/\.ssh\/config$/;

export function createFileGuards({ homes, writeRoots, sendRoots }: GuardFacts): FileGuards {
  function refuse(path: string, isWrite: boolean): string | undefined {
    const kind = findCredential(path, { home: undefined, homes });
    const isCredential = kind === "secret" || (isWrite && kind === "public" && !SSH_CONFIG.test(path));
    // The refusal names no alternative, because there is none.
    if (isCredential || isEnvFile(path))
      return `${path} may hold credentials, which file tools neither show nor change. Tell the user what you need from it.`;
    for (const home of homes) {
      const own = below(path, home);
      if (own !== undefined && STATE.test(own) && !SHARED_WORK.test(own))
        return `${path} holds the state of Hermes, which file tools neither show nor change.`;
      const other = findOtherProfile(path, home);
      if (other !== undefined)
        return `${path} belongs to the profile ${other}, whose files this profile neither reads nor changes. Tell the user: \`hermes -p ${other}\` works on them.`;
    }
    return undefined;
  }

  function refuseSending(path: string): string | undefined {
    const refusal = refuse(path, false);
    if (refusal !== undefined) return refusal;
    for (const home of homes) {
      const own = below(path, home);
      if (own !== undefined && SENDABLE.test(own)) return undefined;
      if (own !== undefined)
        return `${path} is in the home of Hermes, from which files are not sent. Tell the user so.`;
    }
    const isListed = sendRoots?.some((root) => below(path, root) !== undefined) ?? true;
    if (isListed && !SYSTEM.test(path)) return undefined;
    return `${path} is outside of the folders from which files are sent (the working folder, temporary folders and gateway.media_allow_dirs). Copy it there if the user wants it, or tell them so.`;
  }

  return {
    send: refuseSending,
    read: (path) => refuse(path, false),
    write(path) {
      const isOutside = writeRoots.length > 0 && !writeRoots.some((root) => below(path, root) !== undefined);
      if (!isOutside) return refuse(path, true);
      return `${path} is outside of the folders in which files may be changed: ${writeRoots.join(", ")} (HERMES_WRITE_SAFE_ROOT). Tell the user what you would change there.`;
    },
  };
}

/** The path relative to a folder that is or contains it. */
function below(path: string, folder: string): string | undefined {
  const relative = posix.relative(folder, path);
  return relative === ".." || relative.startsWith("../") ? undefined : relative;
}

/** The name of the profile that a file belongs to, if it is not the one of `home`. */
function findOtherProfile(path: string, home: string): string | undefined {
  const root = /^(.+)\/profiles\/[^/]+$/.exec(home)?.[1] ?? home;
  const [, name, rest = ""] = /^profiles\/([^/]+)(?:\/(.*))?$/.exec(below(path, root) ?? "") ?? [];
  return name === undefined || `${root}/profiles/${name}` === home || SHARED_WORK.test(rest)
    ? undefined
    : name;
}
