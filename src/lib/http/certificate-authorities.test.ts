import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rootCertificates } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { loadCertificateAuthorities } from "./certificate-authorities.ts";

async function pemFile(content: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "authorities-test-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "ca.pem");
  await writeFile(path, content);
  return path;
}

test("authorities of a file are added to those of Node and do not replace them", async () => {
  const [first = "", second = ""] = rootCertificates;
  const path = await pemFile(`# with a remark\n${first}\nand between\r\n${second}\n`);
  const authorities = await loadCertificateAuthorities([path]);
  expect(authorities).toEqual(expect.arrayContaining([...rootCertificates]));
  expect(authorities.slice(-2)).toEqual([first, second]);
});

test.each([
  ["none", "just text", /no certificate in PEM format/],
  [
    "only a key",
    "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
    /no certificate in PEM format/,
  ],
  ["a broken one", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", /Cannot use/],
  [
    "a good and a broken one",
    `${rootCertificates[0]}\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
    /Cannot use/,
  ],
])("a file that contains %s is refused by name", async (_, content, message) => {
  const path = await pemFile(content);
  const failure = expect.objectContaining({
    code: "file-unreadable",
    message: expect.stringMatching(message),
  });
  await expect(loadCertificateAuthorities([path])).rejects.toEqual(failure);
  await expect(loadCertificateAuthorities([path])).rejects.toThrow(path);
});

test("a file that does not exist is refused by name", async () => {
  await expect(loadCertificateAuthorities(["/no/such/ca.pem"])).rejects.toThrow(
    /\/no\/such\/ca\.pem: ENOENT/,
  );
});
