import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import * as tls from "node:tls";
import { AppError, messageOf } from "./errors.ts";

/** The certificate authorities that Node trusts by itself and those of PEM files. */
export async function loadAuthorities(caFiles: readonly string[]): Promise<string[]> {
  return [...nodesOwn(), ...(await Promise.all(caFiles.map(readAuthorities))).flat()];
}

async function readAuthorities(caFile: string): Promise<string[]> {
  try {
    const pem = await readFile(caFile, "latin1");
    const added = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
    if (added.length === 0) throw new Error("it holds no certificate in PEM form");
    for (const certificate of added) new X509Certificate(certificate); // TLS would skip a broken one in silence
    return added;
  } catch (cause) {
    const message = `Cannot use the certificate authorities in ${caFile}: ${messageOf(cause)}.`;
    throw new AppError("file-unreadable", message, { cause });
  }
}

/** Newer versions of Node also tell those of NODE_EXTRA_CA_CERTS and of the system, where it was told to use them. */
function nodesOwn(): readonly string[] {
  const {
    getCACertificates,
    rootCertificates,
  }: typeof tls & { getCACertificates?: (kind: "default") => string[] } = tls;
  return getCACertificates?.("default") ?? rootCertificates;
}
