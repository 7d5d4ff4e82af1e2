import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openHttpClient } from "../../src/lib/http/http-client.ts";
import { openAnthropicModel } from "../../src/providers/anthropic/anthropic-model.ts";
import { openOpenaiCompatibleModel } from "../../src/providers/openai-compatible/openai-compatible-model.ts";
import { ask, createTestSignal } from "../../src/providers/provider.contract.ts";
import { testOptions } from "../../src/providers/wire.contract.ts";
import { tempHome } from "../support/hermes.ts";
import { startProxy } from "../support/proxy.ts";
import { type ScriptedServer, startScriptedServer } from "../support/scripted-server.ts";
import { makeTlsIdentity } from "../support/tls-identity.ts";

const FORMATS = ["chat_completions", "anthropic_messages"] as const;
const SCRIPT = { answers: [{ text: "through it", chunk: 2, times: 9 }] };

/** A home whose provider `lab` has this address and further settings. */
async function homeFor(format: string, address: string, more: Record<string, unknown> = {}) {
  const home = await tempHome();
  await mkdir(home.path, { recursive: true });
  const lab = { base_url: `${address}/v1`, api_mode: format, model: "m", ...more };
  await writeFile(join(home.path, "config.yaml"), JSON.stringify({ providers: { lab } }));
  const run = (env: Record<string, string>) =>
    home.hermes(["-z", "go", "-m", "lab:m"], {
      cwd: home.folder,
      env: { TERMINAL_ENV: "local", HERMES_AGENT_API_MAX_RETRIES: "0", ...env },
    });
  return { run, [Symbol.asyncDispose]: () => home[Symbol.asyncDispose]() };
}

const portOf = ({ url }: ScriptedServer): string => new URL(url).port;

test.each(FORMATS)(
  "a model (%s) whose server has a certificate of a custom CA is reached through a proxy",
  async (format) => {
    await using temp = await tempHome();
    const tls = await makeTlsIdentity(temp.folder);
    await using server = await startScriptedServer(SCRIPT, { tls });
    await using ipv6Server = await startScriptedServer(SCRIPT, { tls, host: "::1" });
    await using proxy = await startProxy({ credentials: "me:secret" });
    const env = { HTTPS_PROXY: `http://me:secret@127.0.0.1:${proxy.port}` };
    const named = `https://api.test:${portOf(server)}`;
    const fine = { exitCode: 0, stdout: "through it\n", stderr: "" };

    // Only the proxy can resolve its name.
    await using byVariable = await homeFor(format, named);
    expect(await byVariable.run({ ...env, SSL_CERT_FILE: tls.caFile })).toMatchObject(fine);
    await using bySetting = await homeFor(format, named, { ssl_ca_cert: tls.caFile });
    expect(await bySetting.run(env)).toMatchObject(fine);
    await using unchecked = await homeFor(format, named, { ssl_verify: false });
    expect(await unchecked.run(env)).toMatchObject(fine);
    await using overIpv6 = await homeFor(format, `https://[fd00::7]:${portOf(ipv6Server)}`, {
      ssl_verify: false,
      models: { m: { context_length: 128_000 } }, // otherwise it would be requested, because the server is private
    });
    expect(await overIpv6.run(env)).toMatchObject(fine);
    const tunnels = [...proxy.log];
    expect(tunnels).toEqual([
      ...Array.from({ length: 3 }, () => `CONNECT api.test:${portOf(server)}`),
      `CONNECT [fd00::7]:${portOf(ipv6Server)}`,
    ]);

    // Directly, because these servers are on this machine.
    for (const address of [`https://localhost:${portOf(server)}`, ipv6Server.url]) {
      await using direct = await homeFor(format, address, { ssl_ca_cert: tls.caFile });
      expect(await direct.run(env)).toMatchObject(fine);
    }
    expect(proxy.log).toEqual(tunnels);

    // An untrusted certificate is refused, with the setting that helps, and so is a wrong proxy password.
    const untrusted = await byVariable.run(env);
    expect(untrusted).toMatchObject({ exitCode: 1, stdout: "" });
    expect(untrusted.stderr).toContain("its certificate is not trusted");
    expect(untrusted.stderr).toContain("`providers.lab.ssl_ca_cert` or SSL_CERT_FILE");
    const noFile = await byVariable.run({ ...env, SSL_CERT_FILE: "/nowhere/ca.pem" });
    expect(noFile.stderr).toContain("certificate authorities in /nowhere/ca.pem");
    expect(noFile.stderr).not.toContain("Trying again");
    const wrongPassword = await bySetting.run({ HTTPS_PROXY: `http://me:wrong@127.0.0.1:${proxy.port}` });
    expect(wrongPassword).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining(
        `through the proxy 127.0.0.1:${proxy.port}: the proxy requires a valid user name and password (407).`,
      ),
    });
    expect(wrongPassword.stderr).toContain("http://NAME:PASSWORD@HOST:PORT");
    expect(wrongPassword.stderr).not.toMatch(/key|base_url/);
    expect(wrongPassword.stderr).not.toContain("wrong");
  },
);

test.each(FORMATS)(
  "a proxy that closes the connection is named at once, and the request is retried as usual (%s)",
  async (format) => {
    let tunnels = 0;
    const proxy = createServer((socket) => {
      tunnels++;
      socket.once("data", () => socket.end());
    });
    await once(proxy.listen(0, "127.0.0.1"), "listening");
    const host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    await using home = await homeFor(format, "https://api.test");
    const run = await home.run({ HTTPS_PROXY: `http://${host}`, HERMES_AGENT_API_MAX_RETRIES: "1" });
    proxy.close();
    const why = `lab: Cannot reach api.test through the proxy ${host}: the proxy closed the connection.`;
    expect(run).toMatchObject({ exitCode: 1, stdout: "", stderr: expect.stringContaining(why) });
    expect(run.stderr).toContain("HTTPS_PROXY");
    expect(tunnels).toBe(2);
  },
);

test.each(FORMATS)("an answer (%s) arrives through the tunnel piece by piece", async (format) => {
  await using temp = await tempHome();
  const tls = await makeTlsIdentity(temp.folder);
  // The answer never ends, so each piece arrives before the end.
  await using server = await startScriptedServer(SCRIPT, {
    tls,
    misbehave: () => ({ type: "hang", after: 5 }),
  });
  await using proxy = await startProxy();
  await using http = openHttpClient({
    proxy: { httpsProxy: `http://127.0.0.1:${proxy.port}` },
    caFiles: [tls.caFile],
  });
  const options = testOptions(`https://api.test:${portOf(server)}`, { http });
  const model =
    format === "chat_completions"
      ? openOpenaiCompatibleModel({
          ...options,
          replayReasoning: true,
          outputLimitField: "max_tokens",
          asksForUsage: true,
          cacheTtl: undefined,
          conversationHeader: undefined,
        })
      : openAnthropicModel({ ...options, cacheTtl: "5m" });
  let text = "";
  for await (const event of model.stream(ask("hi"), createTestSignal())) {
    if (event.type === "failed") throw new Error(event.failure.message);
    if (event.type === "text-delta") text += event.text;
    if (text.startsWith("thr")) break;
  }
  expect(proxy.log).toHaveLength(1);
});
