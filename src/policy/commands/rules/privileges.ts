import { hasOption, operandsOf, subcommandOf } from "../arguments.ts";
import type { ClassRule } from "./class-rule.ts";

const PRIVILEGED = new Set([
  "sudo",
  "doas",
  "su",
  "pkexec",
  "runuser",
  "gosu",
  "su-exec",
  "sudoedit",
  "visudo",
  "run0",
]);
const SETTINGS_PROGRAMS = new Set(
  `useradd usermod userdel adduser deluser groupadd groupmod groupdel passwd chpasswd chsh mount umount swapon swapoff
  insmod rmmod modprobe iptables ip6tables nft ufw firewall-cmd setenforce update-grub grub-install chattr
  update-alternatives dpkg-reconfigure csrutil spctl nvram scutil`.split(/\s+/),
);
const SETTING_VERBS: Readonly<Record<string, RegExp>> = {
  sysctl: /^(?:-w|--write|-p|--load|--system)$|^[a-z0-9_.]+=/,
  hostnamectl: /^(?:set-|hostname$)/,
  timedatectl: /^set-/,
  localectl: /^set-/,
  nmcli: /^(?:up|down|add|modify|delete|off|connect|disconnect)$/,
  ip: /^(?:add|del|delete|set|flush|replace|change)$/,
  ifconfig: /^(?:up|down)$/,
  route: /^(?:add|del|delete)$/,
  "ubuntu-drivers": /^(?:install|autoinstall)$/,
};

/** Programs that run a command as another user, such as sudo. */
export const checkPrivileges: ClassRule = ({ name, args }) => {
  if (!PRIVILEGED.has(name) || hasOption(args.slice(0, 1), /^(?:-V|-h|-l|-k|-K|--version|--help|--list)$/))
    return undefined;
  return { class: "privileged", effect: "runs a program with the rights of another user" };
};

/** Opening files to other users, and changing the owner of whole folders. */
export const checkPermissions: ClassRule = ({ name, args }) => {
  if (name === "chmod") {
    const isOpen = args.some((word) => /^[0-7]?[0-7]?[0-7][2367]$/.test(word) || isOpenMode(word));
    if (isOpen) return { class: "open-permissions", effect: "lets every user change files" };
    if (args.some((word) => /^(?:[ugoa]*[+=][rwxt]*s|[2467][0-7]{3})/.test(word)))
      return { class: "open-permissions", effect: "lets a program run with the rights of its owner" };
  }
  if ((name === "chown" || name === "chgrp") && hasOption(args, /^-[a-zA-Z]*R|^--recursive$/))
    return { class: "open-permissions", effect: "changes the owner of whole folders" };
  if (name === "setfacl" && hasOption(args, /^-[a-zA-Z]*[mR]|^--(?:modify|recursive)/))
    return { class: "open-permissions", effect: "changes who may use files" };
  return undefined;
};

/**
 * Whether a symbolic mode lets every user write: `a+w`, `o+rw`, `ugo=rwx`. Plain `+w` does not count, because it respects
 * the umask.
 */
function isOpenMode(word: string): boolean {
  return word.split(",").some((part) => /^[ug]*[oa][ugoa]*[+=][rxXst]*w/.test(part));
}

/** Changing settings of the machine. */
export const checkSystemSettings: ClassRule = ({ name, args }) => {
  const verbs = Object.hasOwn(SETTING_VERBS, name) ? SETTING_VERBS[name] : undefined;
  const changes =
    (SETTINGS_PROGRAMS.has(name) && !listsSettings(name, args)) ||
    (verbs !== undefined && args.some((word) => verbs.test(word)));
  const changesDefaults = name === "defaults" && /^(?:write|delete)$/.test(subcommandOf(args).verb);
  if ((!changes && !changesDefaults) || hasOption(args, /^(?:--help|--version|-h)$/)) return undefined;
  return {
    class: "system-settings",
    effect: `changes settings of ${changesDefaults ? "macOS" : "the machine"}`,
  };
};

function listsSettings(name: string, args: readonly string[]): boolean {
  return (
    (name === "mount" && operandsOf(args, /^-t$/).length === 0) ||
    hasOption(args, /^(?:-L|-S|--list|--list-.*|status|-s|-v)$/)
  );
}
