import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import * as tls from "node:tls";
import { AppError, messageOf } from "../errors.ts";

/** Loads the certificate authorities that Node trusts by default, plus those of the given PEM files. */
export async function loadCertificateAuthorities(caFiles: readonly string[]): Promise<string[]> {
  return [...defaultAuthorities(), ...(await Promise.all(caFiles.map(readAuthorities))).flat()];
}

async function readAuthorities(caFile: string): Promise<string[]> {
  try {
    const pem = await readFile(caFile, "latin1");
    const certificates = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
    if (certificates.length === 0) throw new Error("it contains no certificate in PEM format");
    for (const certificate of certificates) new X509Certificate(certificate); // TLS would silently skip a broken certificate
    return certificates;
  } catch (cause) {
    const message = `Cannot use the certificate authorities in ${caFile}: ${messageOf(cause)}.`;
    throw new AppError("file-unreadable", message, { cause });
  }
}

/** In newer versions of Node this includes the certificates of NODE_EXTRA_CA_CERTS and, if enabled, of the system. */
function defaultAuthorities(): readonly string[] {
  const {
    getCACertificates,
    rootCertificates,
  }: typeof tls & { getCACertificates?: (kind: "default") => string[] } = tls;
  return getCACertificates?.("default") ?? rootCertificates;
}
