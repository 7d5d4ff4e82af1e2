import type { Invocation } from "../../shell-reader/invocation.ts";
import { parseShellArguments } from "../../shell-reader/programs/parse-shell-arguments.ts";
import { UNKNOWN } from "../../shell-reader/scope.ts";
import { hasOption, operandsOf, valuesOfOption } from "../arguments.ts";
import type { Match } from "../command-classes.ts";
import { isMetadataAddress } from "../metadata-address.ts";
import { isSecretFile } from "../sensitive-paths.ts";
import type { ClassRule, RuleContext } from "./class-rule.ts";
import { isPersonal } from "./files.ts";

const CLIENTS =
  /^(?:curl|wget|aria2c|http|https|xh|lynx|w3m|links|fetch|nc|ncat|netcat|socat|telnet|ping|ssh|openssl)$/;
/** Programs that look up names in the network. A name can contain data. */
const NAME_CLIENTS = /^(?:dig|nslookup|host|drill|ping)$/;
const RAW_CLIENTS = /^(?:nc|ncat|netcat|socat|telnet)$/;
const ENVIRONMENT_PRINTERS = ["env", "printenv", "set", "export", "declare", "history"];
/** Programs that can read whole folders or many files at once, so that any personal path in their arguments counts. */
const BULK_READERS = ["tar", "zip", "cpio", "cat", "gzip", "7z", "find"];
/** Programs that print the content of the files in their arguments, of which only files with secrets count. */
const READERS = [
  ...BULK_READERS,
  ..."base64 base32 xxd od hexdump head tail grep sed awk sort jq openssl gpg bzip2 xz".split(" "),
];
const CLOUD_COPIERS = /^(?:aws|gsutil|gcloud|az|s3cmd|s5cmd|mc)$/;
const SHELLS = ["sh", "bash", "zsh", "dash", "ksh"];

/** Requests to a cloud's metadata service, which hands out the credentials of the machine. */
export const checkMetadata: ClassRule = ({ name, args }) =>
  CLIENTS.test(name) && args.some(isMetadataAddress)
    ? { class: "cloud-metadata", effect: "contacts the cloud's metadata service" }
    : undefined;

/** Giving another machine control of a shell. */
export const checkRemoteShell: ClassRule = ({ name, args, files, upstream }) => {
  const isSocket = files.some(({ path }) => /^\/dev\/(?:tcp|udp)\//.test(path));
  const gives =
    (isSocket && (parseShellArguments(name, args) !== undefined || name === "exec")) ||
    (/^(?:nc|ncat|netcat)$/.test(name) && hasOption(args, /^-[a-zA-Z]*[ec]$|^--(?:sh-)?exec(?:=|$)/)) ||
    (name === "socat" && args.some((word) => /^(?:exec|system|shell):/i.test(word))) ||
    (RAW_CLIENTS.test(name) && SHELLS.some((shell) => readsCommandsFromInput(upstream.find(shell))));
  return gives ? { class: "remote-shell", effect: "gives another machine a shell on this one" } : undefined;
};

/** Whether the program is a shell that reads its commands from its input. */
function readsCommandsFromInput(shell: Invocation | undefined): boolean {
  return shell !== undefined && parseShellArguments(shell.name, shell.args)?.kind === "input";
}

/** Sending personal files, keys or the environment to another machine. */
export const checkUpload: ClassRule = (invocation, context) => {
  const { name, args, files, upstream } = invocation;
  const isSocket = files.some(({ path }) => /^\/dev\/(?:tcp|udp)\//.test(path));
  const sends = isSocket || sendsData(invocation);
  // Unknown text in an argument of a client, such as a header, may be the output of a substitution.
  if (!sends && !(CLIENTS.test(name) && args.some((word) => word.includes(UNKNOWN)))) return undefined;
  if (
    ENVIRONMENT_PRINTERS.some((printer) => printsEnvironment(upstream.find(printer))) ||
    (printsEnvironment(invocation) && name !== "")
  )
    return upload("sends the variables of the environment, with their secrets, to another machine");
  if (!sends) return undefined;
  const bulkReader = BULK_READERS.map((program) => upstream.find(program)).find(
    (found) => found && namesPersonalFile(found, context),
  );
  const sent = isSocket && READERS.includes(name) ? operandsOf(args) : sentFiles(invocation);
  const hasSecret =
    sent.some(isSecretFile) ||
    READERS.some((program) => upstream.find(program)?.args.some((word) => isSecretFile(word)));
  if (hasSecret) return upload("sends a file with secrets to another machine");
  const personal = sent.some((path) =>
    isPersonal(path, invocation.cwd, context.facts.home, context.facts.cwd),
  );
  return bulkReader || personal ? upload("sends files of the home folder to another machine") : undefined;
};

function upload(effect: string): Match {
  return { class: "data-upload", effect };
}

function sendsData({ name, args }: Invocation): boolean {
  if (RAW_CLIENTS.test(name)) return true;
  if (name === "curl" || name === "wget")
    return (
      hasOption(args, /^-[a-zA-Z]*[dFT]|^--(?:data.*|form.*|upload-file.*|json.*|post-.*|body-.*)$/) ||
      args.some((word) => /^https?:.*\uFFFC/.test(word))
    );
  if (NAME_CLIENTS.test(name)) return args.some((word) => word.includes(UNKNOWN));
  if (name === "openssl") return args[0] === "s_client";
  if (CLOUD_COPIERS.test(name)) return args.some((word) => /^(?:s3|gs|az):\/\//.test(word));
  return /^(?:scp|rsync|sftp|rclone|http|https|xh|mail|mutt|sendmail|ssh)$/.test(name);
}

/** Whether the program prints all variables of the environment, or the history of the shell. */
function printsEnvironment(found: Invocation | undefined): boolean {
  if (!found) return false;
  if (found.name === "env") return operandsOf(found.args, /^-[uCS]$/).every((word) => word.includes("="));
  if (found.name === "printenv" || found.name === "history") return true;
  return (
    /^(?:set|export|declare)$/.test(found.name) &&
    operandsOf(found.args).length === 0 &&
    !hasOption(found.args, /^[-+][a-oq-wyzA-Z]/)
  );
}

function namesPersonalFile({ args, cwd }: Invocation, { facts }: RuleContext): boolean {
  return args.some(
    (word) => /[/~]/.test(word) && !word.startsWith("-") && isPersonal(word, cwd, facts.home, facts.cwd),
  );
}

function sentFiles({ name, args, files, input }: Invocation): readonly string[] {
  const read = files.filter(({ operator }) => operator.startsWith("<")).map(({ path }) => path);
  if (name === "curl") {
    const bodies = [
      ...valuesOfOption(args, "d", "--data", "--data-binary", "--data-raw", "--data-urlencode", "--json"),
      ...valuesOfOption(args, "F", "--form"),
    ];
    const files = bodies.flatMap((word) => (word.includes("@") ? [word.slice(word.indexOf("@") + 1)] : []));
    return [...read, ...valuesOfOption(args, "T", "--upload-file"), ...files].filter(
      (word) => word !== "-" && word !== "",
    );
  }
  if (name === "sftp")
    return [
      ...read,
      ...input.flatMap((text) =>
        Array.from(text.matchAll(/^\s*(?:re)?put\s+(\S+)/gm), ([, path = ""]) => path),
      ),
    ];
  if (name === "wget") return [...read, ...valuesOfOption(args, undefined, "--post-file", "--body-file")];
  if (CLOUD_COPIERS.test(name)) return [...read, ...args.slice(0, -1)];
  if (name !== "scp" && name !== "rsync" && name !== "rclone") return read;
  const operands = operandsOf(args, /^-[eiFoPlSJ]$|^--(?:exclude|include|rsh|filter)$/);
  return /^[^/]+:/.test(operands.at(-1) ?? "") ? [...read, ...operands.slice(0, -1)] : read;
}
