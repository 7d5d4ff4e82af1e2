/** The command-line syntax of a program that starts another program. */
interface Wrapper {
  /** One-letter options that take a value. */
  readonly valued?: string;
  /** Long options that take the next argument as their value. */
  readonly valuedLong?: readonly string[];
  /** Number of words between the options and the command. */
  readonly operands?: number;
  /** Whether NAME=value words may precede the command. */
  readonly assigns?: boolean;
  /** Options that keep the wrapper from starting a program. */
  readonly inert?: RegExp;
  /** The option whose value a shell runs. */
  readonly text?: RegExp;
  /** Whether its operands are joined to one text that a shell runs. */
  readonly joins?: boolean;
  /** Whether the command runs on another machine. */
  readonly remote?: boolean;
}

const WRAPPERS: Readonly<Record<string, Wrapper>> = {
  sudo: {
    valued: "ugpCchDRrTtU",
    valuedLong: [
      "user",
      "group",
      "prompt",
      "chdir",
      "chroot",
      "host",
      "role",
      "type",
      "close-from",
      "other-user",
    ],
    assigns: true,
  },
  doas: { valued: "uC" },
  pkexec: { valuedLong: ["user"] },
  env: {
    valued: "uCS",
    valuedLong: ["unset", "chdir", "split-string"],
    assigns: true,
    text: /^(?:-\w*S|--split-string)$/,
  },
  command: { inert: /^-p?[vV]/ },
  builtin: {},
  exec: { valued: "a" },
  nohup: {},
  setsid: {},
  time: { valued: "fo", valuedLong: ["format", "output"] },
  nice: { valued: "n", valuedLong: ["adjustment"] },
  timeout: { valued: "sk", valuedLong: ["signal", "kill-after"], operands: 1 },
  gtimeout: { valued: "sk", valuedLong: ["signal", "kill-after"], operands: 1 },
  stdbuf: { valued: "ioe", valuedLong: ["input", "output", "error"] },
  ionice: { valued: "cn", valuedLong: ["class", "classdata"], inert: /^-[pPu]/ },
  chrt: { valued: "TPD", operands: 1, inert: /^-[apm]/ },
  taskset: { operands: 1, inert: /^-\w*p/ },
  chroot: { valuedLong: ["userspec", "groups"], operands: 1 },
  unshare: { valued: "SGRw" },
  nsenter: { valued: "tSG", valuedLong: ["target", "setuid", "setgid"] },
  setpriv: { valuedLong: ["reuid", "regid", "groups", "inh-caps", "ambient-caps", "bounding-set"] },
  prlimit: {},
  numactl: { valued: "NCimp" },
  "systemd-run": { valued: "pMHuEGP", valuedLong: ["unit", "property", "slice", "uid", "gid", "on-active"] },
  "systemd-inhibit": { valuedLong: ["what", "who", "why", "mode"] },
  caffeinate: { valued: "tw" },
  fakeroot: { valued: "lsibu" },
  gosu: { operands: 1 },
  "su-exec": { operands: 1 },
  unbuffer: {},
  strace: { valued: "eopsuaIbEPSOX" },
  busybox: { inert: /^--/ },
  toybox: { inert: /^--/ },
  xargs: {
    valued: "InPsadEL",
    valuedLong: ["arg-file", "delimiter", "max-args", "max-chars", "max-procs"],
  },
  parallel: { valued: "jNnSIPa", valuedLong: ["jobs", "max-args", "arg-file"] },
  watch: { valued: "n", valuedLong: ["interval"], joins: true },
  flock: { valued: "wEc", valuedLong: ["timeout", "command"], operands: 1, text: /^(?:-c|--command)$/ },
  su: {
    valued: "csgGw",
    valuedLong: ["command", "session-command", "shell", "group"],
    text: /^(?:-\w*c|--(?:session-)?command)$/,
  },
  runuser: {
    valued: "csgGuw",
    valuedLong: ["command", "session-command", "shell", "user"],
    text: /^(?:-\w*c|--(?:session-)?command)$/,
  },
  script: { valued: "cEoIOBTm", valuedLong: ["command"], operands: 1, text: /^(?:-\w*c|--command)$/ },
  sg: { valued: "c", operands: 1, text: /^-c$/ },
  "dbus-run-session": { valuedLong: ["config-file", "dbus-daemon"] },
  "dbus-launch": { valuedLong: ["autolaunch"] },
  ssh: { valued: "BbcDEeFIiJLlmOopQRSWw", operands: 1, joins: true, remote: true },
};

/** The dynamic loader of the system starts the program in its arguments. */
const LOADER: Wrapper = { valuedLong: ["library-path", "preload", "audit", "argv0", "inhibit-rpath"] };

export type UnwrappedCommand =
  | { readonly kind: "words"; readonly words: readonly string[]; readonly remote: boolean }
  | { readonly kind: "text"; readonly text: string; readonly remote: boolean }
  /** Its arguments name no program, but it may read commands from standard input. */
  | { readonly kind: "bare"; readonly remote: boolean };

/** Determines what a wrapper such as `sudo`, `env` or `ssh` starts; undefined for other programs. */
export function unwrapCommand(name: string, args: readonly string[]): UnwrappedCommand | undefined {
  if (name === "start-stop-daemon") return daemonOf(args);
  const wrapper = Object.hasOwn(WRAPPERS, name)
    ? WRAPPERS[name]
    : /^ld-(?:linux|musl)[^/]*\.so[.\d]*$/.test(name)
      ? LOADER
      : undefined;
  if (!wrapper) return undefined;
  const remote = wrapper.remote ?? false;
  let operands = wrapper.operands ?? 0;
  let at = 0;
  for (; at < args.length; at += 1) {
    const word = args[at] ?? "";
    if (wrapper.inert?.test(word)) return { kind: "bare", remote };
    const option = readOption(word, wrapper);
    const value = option && (option.value ?? args[at + 1]);
    if (option && wrapper.text?.test(option.name)) return { kind: "text", text: value ?? "", remote };
    if (option?.takesNext) at += 1;
    else if (!option && !(wrapper.assigns && /^[A-Za-z_]\w*=/.test(word))) {
      // The operand of `flock FILE -c TEXT` and `su USER -c TEXT` may precede the option.
      if (
        operands === 0 &&
        !(wrapper.text && args.slice(at + 1, at + 4).some((next) => wrapper.text?.test(next)))
      )
        break;
      operands -= operands > 0 ? 1 : 0;
    }
  }
  const words = args.slice(at);
  if (words.length === 0) return { kind: "bare", remote };
  return wrapper.joins ? { kind: "text", text: words.join(" "), remote } : { kind: "words", words, remote };
}

/** `start-stop-daemon -S -x PROGRAM -- WORDS`. */
function daemonOf(args: readonly string[]): UnwrappedCommand {
  const at = args.findIndex((word) => /^(?:-\w*[xa]|--exec|--startas)$/.test(word));
  const end = args.indexOf("--");
  const long = args.find((word) => /^--(?:exec|startas)=/.test(word));
  const program = at >= 0 ? args[at + 1] : long?.slice(long.indexOf("=") + 1);
  if (program === undefined || args.some((word) => /^(?:-K|--stop|-T|--status)$/.test(word)))
    return { kind: "bare", remote: false };
  return { kind: "words", words: [program, ...(end < 0 ? [] : args.slice(end + 1))], remote: false };
}

interface Option {
  readonly name: string;
  readonly value: string | undefined;
  readonly takesNext: boolean;
}

function readOption(word: string, wrapper: Wrapper): Option | undefined {
  if (!word.startsWith("-") || word === "") return undefined;
  if (word === "-" || word === "--") return { name: word, value: undefined, takesNext: false };
  const equals = word.indexOf("=");
  if (word.startsWith("--")) {
    if (equals > 0) return { name: word.slice(0, equals), value: word.slice(equals + 1), takesNext: false };
    return { name: word, value: undefined, takesNext: wrapper.valuedLong?.includes(word.slice(2)) ?? false };
  }
  for (let at = 1; at < word.length; at += 1) {
    if (!wrapper.valued?.includes(word[at] ?? "")) continue;
    const value = at + 1 < word.length ? word.slice(at + 1) : undefined;
    return { name: word.slice(0, at + 1), value, takesNext: value === undefined };
  }
  return { name: word, value: undefined, takesNext: false };
}
