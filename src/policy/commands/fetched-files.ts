import type { Invocation } from "../shell-reader/invocation.ts";
import { operandsOf, valuesOfOption } from "./arguments.ts";
import { locate } from "./sensitive-paths.ts";
import { isWritten } from "./written-files.ts";

const DOWNLOADERS = [
  "curl",
  "wget",
  "aria2c",
  "fetch",
  "http",
  "https",
  "xh",
  "lynx",
  "w3m",
  "nc",
  "ncat",
  "netcat",
  "socat",
  "telnet",
  "ftp",
];
const DECODERS = [
  "base64",
  "base32",
  "basenc",
  "xxd",
  "openssl",
  "tr",
  "rev",
  "uudecode",
  "gpg",
  "hexdump",
  "od",
  "zcat",
  "gunzip",
  "bunzip2",
  "xzcat",
  "unxz",
];

/** Whether the text that a program reads comes from a download or from a decoder. */
export function originOf({
  upstream,
}: Pick<Invocation, "upstream">): "remote-code" | "decoded-code" | undefined {
  if (upstream.isEmpty) return undefined;
  if (DOWNLOADERS.some((name) => upstream.find(name))) return "remote-code";
  return DECODERS.some((name) => upstream.find(name)) ? "decoded-code" : undefined;
}

/** Whether a program downloads or decodes something, which could be code. */
export function fetchedBy({ name, args }: Invocation): "remote-code" | "decoded-code" | undefined {
  if (DOWNLOADERS.includes(name)) return "remote-code";
  const decodes =
    (/^base(?:64|32|nc)$/.test(name) && args.some((word) => /^-[a-zA-Z]*[dD]|^--d/.test(word))) ||
    (name === "xxd" && args.some((word) => /^-r|^-revert/.test(word))) ||
    (name === "openssl" && args.includes("-d"));
  return decodes ? "decoded-code" : undefined;
}

/** The files that downloads and decoders of a command write, by absolute path. */
export function findFetchedFiles(
  invocations: readonly Invocation[],
): ReadonlyMap<string, "remote-code" | "decoded-code"> {
  const fetched = new Map<string, "remote-code" | "decoded-code">();
  for (const invocation of invocations) {
    const kind = fetchedBy(invocation) ?? originOf(invocation);
    if (kind === undefined) continue;
    for (const path of targetsOf(invocation)) fetched.set(locate(path, invocation.cwd), kind);
  }
  return fetched;
}

function targetsOf({ name, args, files }: Invocation): readonly string[] {
  const written = files.filter(isWritten).map(({ path }) => path);
  if (name === "tee") return [...written, ...operandsOf(args)];
  if (name === "curl") {
    const named = args.some((word) => /^-[a-zA-Z]*O|^--remote-name/.test(word))
      ? args.map(nameInAddress)
      : [];
    return [...written, ...valuesOfOption(args, "o", "--output"), ...named];
  }
  if (name !== "wget") return written;
  const outputs = valuesOfOption(args, "O", "--output-document");
  return [...written, ...(outputs.length > 0 ? outputs : args.map(nameInAddress))];
}

/** The file name at the end of an address. */
function nameInAddress(word: string): string {
  return word.includes("/") ? (word.split(/[?#]/)[0]?.split("/").at(-1) ?? word) : word;
}
