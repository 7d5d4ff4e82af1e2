import { expect, test } from "vitest";
import { startProxy } from "../../../test/support/proxy.ts";
import { storedSettings } from "../../../test/support/route-settings.ts";
import { startScriptedServer } from "../../../test/support/scripted-server.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { ask, collect, createTestSignal } from "../provider.contract.ts";
import { resolveRoute } from "./resolve-route.ts";
import { openRoute } from "./route-http.ts";

const ANSWERS = { answers: [{ text: "yes", times: 9 }] };

async function askAt(base_url: string, variables: Readonly<Record<string, string>>) {
  const route = resolveRoute(storedSettings({ base_url, api_key: "k", default: "m" }), {}, () => undefined);
  const { model, http } = await openRoute(route, variables, { clock: systemClock, cacheTtl: "5m" });
  await using _ = http;
  return await collect(model.stream(ask("hi"), createTestSignal()));
}

test("requests to a server on this machine ignore the proxy variables", async () => {
  await using server = await startScriptedServer(ANSWERS);
  await using proxy = await startProxy();
  const address = `http://127.0.0.1:${proxy.port}`;
  await askAt(`${server.url}/v1`, { HTTP_PROXY: address, ALL_PROXY: address });
  expect(server.requests[0]?.headers["authorization"]).toBe("Bearer k");
  expect(proxy.log).toEqual([]);
});

test("a key is sent unencrypted through a proxy on this machine, and through no other proxy", async () => {
  await using server = await startScriptedServer(ANSWERS);
  await using proxy = await startProxy();
  const address = `http://gateway.test:${new URL(server.url).port}/v1`;
  await askAt(address, { HTTP_PROXY: `http://127.0.0.1:${proxy.port}` });
  expect(server.requests[0]?.headers["authorization"]).toBe("Bearer k");
  // A name that means this machine, but that isLoopback does not recognise.
  const far = `[::ffff:7f00:1]:${proxy.port}`;
  await askAt(address, { HTTP_PROXY: `http://${far}` });
  expect(server.requests[1]?.headers["authorization"]).toBeUndefined();
  expect(proxy.log).toHaveLength(2);
  await using strict = await startScriptedServer(ANSWERS, {
    misbehave: () => ({ type: "answer", status: 401, body: "{}" }),
  });
  const refused = await askAt(`http://gateway.test:${new URL(strict.url).port}/v1`, { HTTP_PROXY: far });
  expect(JSON.stringify(refused)).toContain(
    `model.api_key was not sent, because the proxy ${far} could read it. Use https for model.base_url, or put its host into NO_PROXY.`,
  );
});
