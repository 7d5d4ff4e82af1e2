import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runProcess } from "../../src/lib/process/process.ts";

/** A server's key and certificate, and the file of the authority that signed it, which is not trusted by default. */
export interface TlsIdentity {
  readonly key: string;
  readonly cert: string;
  readonly caFile: string;
}

/** Creates an authority and a certificate for this machine and for `api.test`, in a folder. */
export async function makeTlsIdentity(folder: string): Promise<TlsIdentity> {
  const names = "subjectAltName=DNS:localhost,DNS:api.test,IP:127.0.0.1,IP:::1";
  await writeFile(join(folder, "names"), names);
  const newKey = "-newkey rsa:2048 -nodes -sha256";
  for (const words of [
    `req -x509 ${newKey} -keyout ca.key -out ca.pem -days 2 -subj /CN=Test-CA`,
    `req ${newKey} -keyout server.key -out server.csr -subj /CN=localhost`,
    "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out server.pem -days 2 -extfile names",
  ]) {
    const options = { cwd: folder, env: { PATH: process.env["PATH"] } };
    const result = await runProcess(["openssl", ...words.split(" ")], options, AbortSignal.timeout(300_000));
    if (result.exitCode !== 0) throw new Error(result.stderr);
  }
  return {
    key: await readFile(join(folder, "server.key"), "utf8"),
    cert: await readFile(join(folder, "server.pem"), "utf8"),
    caFile: join(folder, "ca.pem"),
  };
}
