import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type ProxyOptions, startProxy } from "../../../test/support/proxy.ts";
import { scriptModule } from "../../../test/support/script-module.ts";
import { makeTlsIdentity, type TlsIdentity } from "../../../test/support/tls-identity.ts";
import { AppError } from "../errors.ts";
import { runProcess } from "../process/process.ts";
import {
  type HttpClient,
  type HttpSettings,
  listCaFiles,
  openHttpClient,
  readProxySettings,
} from "./http-client.ts";

/** The label is too long for DNS, so the lookup fails locally without network traffic. */
const NO_SUCH_NAME = `${"x".repeat(64)}.test`;

/** The request that a script in another process makes. */
const ASK = '{ method: "GET", headers: {}, body: "" }';

let folder: string;
let caFile: string;
let identity: TlsIdentity;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "http-test-"));
  identity = await makeTlsIdentity(folder);
  caFile = identity.caFile;
});

afterAll(() => rm(folder, { recursive: true, force: true }));

describe("without a proxy", () => {
  test("a request to an http server is sent directly", async () => {
    const server = await listen(
      createServer((_, response) => {
        response.write("hel");
        response.end("lo");
      }),
    );
    await using http = openHttpClient({ proxy: {} });
    const response = await ask(http, `http://127.0.0.1:${server.port}/`);
    expect(response.status).toBe(200);
    expect(await response.text()).toBe("hello");
  });

  test.each(["direct", "proxy", "tunnel"])(
    "an unfinished handshake ends when its client is disposed (%s)",
    async (way) => {
      const silent = createTcpServer();
      silent.listen(0, "127.0.0.1");
      await once(silent, "listening");
      onTestFinished(() => void silent.close());
      const { port } = silent.address() as AddressInfo;
      const proxy =
        way === "direct" ? {} : { httpsProxy: `http${way === "proxy" ? "s" : ""}://localhost:${port}` };
      const http = openHttpClient({ proxy, connectTimeoutMs: 3_600_000 });
      const stop = new AbortController();
      const connected = once(silent, "connection");
      const asking = ask(http, `https://127.0.0.1:${port}/`, { signal: stop.signal });
      asking.catch(() => undefined);
      const [socket] = (await connected) as [Socket];
      socket.on("error", () => undefined);
      const closed = new Promise((resolve) => socket.once("close", resolve));
      await once(socket, "data");
      if (way === "tunnel") {
        socket.write("HTTP/1.1 200 OK\r\n\r\n"); // the tunnel leads to no server
        await once(socket, "data");
      }
      stop.abort(new Error("enough"));
      await expect(asking).rejects.toThrow("enough");
      await http[Symbol.asyncDispose]();
      await closed;
    },
  );

  test("proxy variables of the process are ignored", async () => {
    const server = await listen(createServer((_, response) => response.end("direct")));
    const dead = "http://127.0.0.1:1";
    const proxies = {
      http_proxy: dead,
      HTTP_PROXY: dead,
      all_proxy: dead,
      ALL_PROXY: dead,
      NODE_USE_ENV_PROXY: "1",
      NODE_NO_WARNINGS: "1", // some versions of Node warn about the variable above
    };
    const script = `
      const http = openHttpClient({ proxy: {} });
      const answer = await http.exchange("http://127.0.0.1:${server.port}/", ${ASK}, new AbortController().signal);
      for (let chunk = await answer.read(); chunk; chunk = await answer.read()) console.log(String(chunk));
      await http[Symbol.asyncDispose]();`;
    expect(await runScript(script, proxies)).toBe("direct\n");
  });

  test("NO_PROXY of the process is ignored", async () => {
    const { server, proxy, settings } = await serverBehindProxy();
    const script = `
      const http = openHttpClient(${JSON.stringify(settings)});
      const answer = await http.exchange("http://127.0.0.1:${server.port}/", ${ASK}, new AbortController().signal);
      for (let chunk = await answer.read(); chunk; chunk = await answer.read()) console.log(String(chunk));
      await http[Symbol.asyncDispose]();`;
    expect(await runScript(script, { NO_PROXY: "*", no_proxy: "*" })).toBe("hello from /\n");
    expect(proxy.log).toEqual([`GET http://127.0.0.1:${server.port}/`]);
  });

  test("nothing is loaded until the first request", async () => {
    const server = await listen(createServer((_, response) => response.end()));
    const script = `
      import { createRequire } from "node:module";
      const loaded = () => Object.keys(createRequire(import.meta.url).cache).some((file) => file.includes("undici"));
      const http = openHttpClient({ proxy: {} });
      const before = loaded();
      await http.exchange("http://127.0.0.1:${server.port}/", ${ASK}, new AbortController().signal);
      console.log(before, loaded());
      await http[Symbol.asyncDispose]();`;
    expect(await runScript(script)).toBe("false true\n");
  });

  test("the client works in a bundle", async () => {
    const server = await listen(createServer((_, response) => response.end("bundled")));
    const script = `
      import { openHttpClient } from "./http-client.ts";
      const http = openHttpClient({ proxy: {} });
      const answer = await http.exchange("http://127.0.0.1:${server.port}/", ${ASK}, new AbortController().signal);
      for (let chunk = await answer.read(); chunk; chunk = await answer.read()) console.log(String(chunk));
      await http[Symbol.asyncDispose]();`;
    const outdir = join(folder, "bundle");
    await build({
      stdin: { contents: script, resolveDir: import.meta.dirname, loader: "ts" },
      outdir,
      outExtension: { ".js": ".mjs" },
      bundle: true,
      splitting: true,
      platform: "node",
      format: "esm",
      banner: {
        js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
      },
    });
    const argv = [process.execPath, join(outdir, "stdin.mjs")] as const;
    const result = await runProcess(argv, { env: {} }, AbortSignal.timeout(300_000));
    expect(result).toMatchObject({ stdout: "bundled\n", stderr: "" });
  });
});

describe("through a proxy", () => {
  test("an https URL is reached by a tunnel, and only the proxy resolves its name", async () => {
    const { server, proxy, settings } = await serverBehindProxy({ secure: true });
    await using http = openHttpClient({ ...settings, caFiles: [caFile] });
    expect(await (await ask(http, `https://api.test:${server.port}/a`)).text()).toBe("hello from /a");
    expect(proxy.log).toEqual([`CONNECT api.test:${server.port}`]);
  });

  test("an http URL is requested from the proxy without a tunnel", async () => {
    const { server, proxy, settings } = await serverBehindProxy();
    await using http = openHttpClient(settings);
    expect(await (await ask(http, `http://api.test:${server.port}/a?b=c`)).text()).toBe("hello from /a?b=c");
    expect(proxy.log).toEqual([`GET http://api.test:${server.port}/a?b=c`]);
  });

  test("that uses TLS, the custom authority is trusted too", async () => {
    const server = await listen(createTlsServer(identity, greet));
    const proxy = await listenProxy({ secure: true });
    await using http = openHttpClient({
      proxy: { httpsProxy: `https://localhost:${proxy.port}` },
      caFiles: [caFile],
    });
    expect(await (await ask(http, `https://api.test:${server.port}/`)).text()).toBe("hello from /");
    expect(proxy.log).toEqual([`CONNECT api.test:${server.port}`]);
  });

  test("a proxy for http is not used for https", async () => {
    const server = await listen(createTlsServer(identity, greet));
    await using http = openHttpClient({ proxy: { httpProxy: "http://127.0.0.1:1" }, caFiles: [caFile] });
    expect((await ask(http, `https://localhost:${server.port}/`)).status).toBe(200);
  });

  test("a proxy for http that cannot be used, such as the SOCKS proxy of ALL_PROXY, does not affect https", async () => {
    const { server, proxy } = await serverBehindProxy({ secure: true });
    await using http = openHttpClient({
      proxy: readProxySettings({
        https_proxy: `http://127.0.0.1:${proxy.port}`,
        all_proxy: "socks5://127.0.0.1:1080",
      }),
      caFiles: [caFile],
    });
    expect((await ask(http, `https://api.test:${server.port}/`)).status).toBe(200);
    expect((await failureOf(ask(http, "http://api.test/"))).message).toContain(
      "SOCKS proxies are not supported",
    );
  });

  test("that forbids the host, the error says so in plain words", async () => {
    const proxy = await listen(
      createServer().on("connect", (_, socket) => socket.end("HTTP/1.1 403 Forbidden\r\n\r\n")),
    );
    const host = `127.0.0.1:${proxy.port}`;
    await using http = openHttpClient({ proxy: { httpsProxy: `http://${host}` } });
    expect(await failureOf(ask(http, "https://api.test/"))).toMatchObject({
      message: `Cannot reach api.test through the proxy ${host}: the proxy refused the connection (403).`,
      hint: expect.stringContaining("NO_PROXY"),
    });
  });

  test("without a scheme is treated as http", async () => {
    const { server, proxy } = await serverBehindProxy();
    await using http = openHttpClient({ proxy: { httpProxy: `localhost:${proxy.port}` } });
    expect((await ask(http, `http://api.test:${server.port}/`)).status).toBe(200);
    expect(proxy.log).toHaveLength(1);
  });

  test.each([
    ["name:pass%40word%3A1", "name:pass@word:1"],
    ["token", "token:"],
  ])("credentials %s are sent to the proxy only", async (inAddress, expected) => {
    for (const secure of [false, true]) {
      const seen: (string | undefined)[] = [];
      const origin: RequestListener = (incoming, response) => {
        seen.push(incoming.headers["proxy-authorization"]);
        response.end();
      };
      const { server, proxy } = await serverBehindProxy({ secure, origin, credentials: expected });
      const address = `http://${inAddress}@127.0.0.1:${proxy.port}`;
      await using http = openHttpClient({
        proxy: { httpProxy: address, httpsProxy: address },
        caFiles: [caFile],
      });
      const response = await ask(http, `${secure ? "https" : "http"}://api.test:${server.port}/`);
      expect(response.status).toBe(200);
      expect(seen).toEqual([undefined]);
    }
  });

  test.each([false, true])(
    "that requires other credentials, the error does not show them (https: %s)",
    async (secure) => {
      const { server, proxy } = await serverBehindProxy({ secure, credentials: "other:one" });
      const address = `http://name:hunter2@127.0.0.1:${proxy.port}`;
      await using http = openHttpClient({
        proxy: { httpProxy: address, httpsProxy: address },
        caFiles: [caFile],
      });
      const error = await failureOf(
        ask(http, `${secure ? "https" : "http"}://api.test:${server.port}/?key=hunter2`),
      );
      expect(error.code).toBe("http-failed");
      expect(error.message).toContain(`api.test:${server.port} through the proxy 127.0.0.1:${proxy.port}`);
      expect(error.message).toContain("requires a valid user name and password (407)");
      expect(error.hint).toContain("http://NAME:PASSWORD@HOST:PORT");
      expectNoSecret(error);
    },
  );

  test("that does not answer, the error names the proxy", async () => {
    const host = `127.0.0.1:${await closedPort()}`;
    await using http = openHttpClient({ proxy: { httpsProxy: `http://name:hunter2@${host}` } });
    const error = await failureOf(ask(http, "https://api.test/?key=hunter2"));
    expect(error.message).toBe(
      `Cannot reach api.test through the proxy ${host}: the connection was refused.`,
    );
    expectNoSecret(error);
  });

  test.each<[string, (socket: Socket) => void]>([
    ["closes the connection", (socket) => socket.end()],
    ["resets the connection", (socket) => socket.resetAndDestroy()],
    ["ends its answer in the middle", (socket) => socket.end("HTTP/1.1 200 Conn")],
    ["closes the tunnel at once", (socket) => socket.end("HTTP/1.1 200 OK\r\n\r\n")],
  ])("that %s gets one request, and the error names the proxy", async (_, answer) => {
    let connections = 0;
    const server = createTcpServer((socket) => {
      connections++;
      socket.on("error", () => undefined).once("data", () => answer(socket));
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => void server.close());
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    await using http = openHttpClient({ proxy: { httpsProxy: `http://${host}` } });
    const error = await failureOf(ask(http, "https://api.test/"));
    expect(error.message).toMatch(
      new RegExp(
        `^Cannot reach api.test through the proxy ${host}: the (?:proxy closed the connection|connection was closed)`,
      ),
    );
    expect(connections).toBe(1);
  });

  test.each(["http://name:hunter2@", "http://name:hunter2%@host", "socks5://name:hunter2@host:1080"])(
    "%s is refused without being quoted",
    async (httpProxy) => {
      await using http = openHttpClient({ proxy: { httpProxy } });
      const error = await failureOf(ask(http, "http://127.0.0.1:1/"));
      expect(error).toMatchObject({ code: "http-failed", hint: expect.stringContaining("http://host:port") });
      expectNoSecret(error);
    },
  );
});

describe("NO_PROXY", () => {
  test.each([
    ["the host", "127.0.0.1", true],
    ["a block of addresses", "example.com 127.0.0.0/8", true],
    ["another host", "127.0.0.2,example.com", false],
    ["another port", "127.0.0.1:1", false],
  ])("with %s", async (_, noProxy, directly) => {
    const { server, proxy, settings } = await serverBehindProxy();
    await using http = openHttpClient({ proxy: { ...settings.proxy, noProxy } });
    expect((await ask(http, `http://127.0.0.1:${server.port}/`)).status).toBe(200);
    expect(proxy.log).toHaveLength(directly ? 0 : 1);
  });

  test("with the port of the URL", async () => {
    const { server, proxy, settings } = await serverBehindProxy();
    await using http = openHttpClient({
      proxy: { ...settings.proxy, noProxy: `localhost:${server.port}` },
    });
    expect((await ask(http, `http://localhost:${server.port}/`)).status).toBe(200);
    expect(proxy.log).toEqual([]);
  });

  test("with a domain applies to its subdomains", async () => {
    const { proxy, settings } = await serverBehindProxy();
    await using http = openHttpClient({ proxy: { ...settings.proxy, noProxy: "test" } });
    const error = await failureOf(ask(http, `http://${NO_SUCH_NAME}/`));
    expect(error.message).not.toContain("proxy");
    expect(proxy.log).toEqual([]);
  });
});

describe("certificates", () => {
  test("of an authority in the CA file are trusted", async () => {
    const server = await listen(createTlsServer(identity, greet));
    await using http = openHttpClient({ proxy: {}, caFiles: [caFile] });
    expect(await (await ask(http, `https://localhost:${server.port}/`)).text()).toBe("hello from /");
    expect(await (await ask(http, `https://127.0.0.1:${server.port}/`)).text()).toBe("hello from /");
  });

  test.each([false, true])(
    "of an unknown authority are refused, with the setting that helps (proxy: %s)",
    async (proxied) => {
      const { server, settings } = await serverBehindProxy({ secure: true });
      await using http = openHttpClient({ proxy: proxied ? settings.proxy : {}, caKey: "section.ca_file" });
      const error = await failureOf(ask(http, `https://localhost:${server.port}/`));
      expect(error.message).toMatch(/^Cannot reach localhost:\d+.*: its certificate is not trusted/);
      expect(error.hint).toContain("`section.ca_file`");
    },
  );

  test("are not verified when verification is turned off", async () => {
    const { server, settings } = await serverBehindProxy({ secure: true });
    for (const proxy of [{}, settings.proxy]) {
      await using http = openHttpClient({ proxy, verifiesTls: false });
      expect((await ask(http, `https://localhost:${server.port}/`)).status).toBe(200);
    }
  });

  test("for another host name are refused", async () => {
    const { server, settings } = await serverBehindProxy({ secure: true });
    await using http = openHttpClient({ ...settings, caFiles: [caFile] });
    const error = await failureOf(ask(http, `https://other.test:${server.port}/`));
    expect(error.message).toMatch(/certificate is for another name\.$/);
    expect(error.hint).toContain("a name that its certificate covers");
  });

  test("from an unusable file are an error until the file is repaired", async () => {
    const server = await listen(createTlsServer(identity, greet));
    const file = join(folder, "repaired.pem");
    await using http = openHttpClient({ proxy: {}, caFiles: [file] });
    const error = await failureOf(ask(http, `https://localhost:${server.port}/`));
    expect(error).toMatchObject({ code: "file-unreadable", message: expect.stringContaining(file) });
    await writeFile(file, await readFile(caFile));
    expect((await ask(http, `https://localhost:${server.port}/`)).status).toBe(200);
  });
});

describe("a failure", () => {
  const failure = async (url: string, init: AskOptions = {}) => {
    await using http = openHttpClient({ proxy: {} });
    const error = await failureOf(ask(http, url, init));
    expect(error.code).toBe("http-failed");
    expectNoSecret(error);
    return error;
  };

  test("names the host and that the connection was refused", async () => {
    const port = await closedPort();
    const { message, hint } = await failure(`http://127.0.0.1:${port}/path?key=hunter2`);
    expect(message).toBe(`Cannot reach 127.0.0.1:${port}: the connection was refused.`);
    expect(hint).toBe("Check that the server is running and listens on this port.");
    expect(await failure(`http://localhost:${port}/`)).toMatchObject({
      message: expect.stringMatching(/refused/),
      hint,
    });
  });

  test("of TLS with a plain http server asks whether http was meant and has a hint", async () => {
    const { port } = await listen(createServer(greet));
    const { message, hint } = await failure(`https://127.0.0.1:${port}/`);
    expect(message).toMatch(/does not speak TLS; is it http instead of https\?$/);
    expect(hint).toContain("Write the address with http://");
  });

  test("names the host that cannot be resolved", async () => {
    expect((await failure(`https://${NO_SUCH_NAME}/?key=hunter2`)).message).toMatch(
      /the name x{64}\.test was not found/,
    );
  });

  test("reports that the connection was closed", async () => {
    const server = await listen(createServer((incoming) => incoming.socket.destroy()));
    expect((await failure(`http://127.0.0.1:${server.port}/?key=hunter2`)).message).toMatch(
      /closed before the answer/,
    );
  });

  test("reports that the server does not speak TLS", async () => {
    const server = await listen(createServer(greet));
    expect((await failure(`https://127.0.0.1:${server.port}/`)).message).toMatch(/does not speak TLS/);
  });

  test("quotes neither a URL with a password nor an invalid URL", async () => {
    expect((await failure("http://name:hunter2@127.0.0.1:1/")).message).toMatch(
      /127\.0\.0\.1:1 carries a user name/,
    );
    expect((await failure("not a url hunter2")).message).toMatch(/not a URL/);
  });

  test("does not show a key that contains a line break", async () => {
    const error = await failure("http://127.0.0.1:1/", { headers: { authorization: "Bearer hun\nhunter2" } });
    expect(error.message).toMatch(/A header for 127\.0\.0\.1:1/);
  });

  test("is not thrown for a response with an error status", async () => {
    const server = await listen(createServer((_, response) => response.writeHead(503).end("busy")));
    await using http = openHttpClient({ proxy: {} });
    expect((await ask(http, `http://127.0.0.1:${server.port}/`)).status).toBe(503);
  });
});

describe("an abort", () => {
  test("before the request rejects with its reason and sends nothing", async () => {
    let asked = 0;
    const server = await listen(
      createServer((_, response) => {
        asked += 1;
        response.end();
      }),
    );
    await using http = openHttpClient({ proxy: {}, caFiles: ["never read"] });
    const reason = new Error("too early");
    const signal = AbortSignal.abort(reason);
    await expect(ask(http, `http://127.0.0.1:${server.port}/`, { signal })).rejects.toBe(reason);
    expect(asked).toBe(0);
  });

  test("while waiting for the response rejects with its reason and closes the connection", async () => {
    const abort = new AbortController();
    const reason = new TypeError("changed my mind", { cause: "a reason that looks like a failure" });
    let closed: Promise<unknown> | undefined;
    const server = await listen(
      createServer((incoming) => {
        closed = once(incoming.socket, "close");
        abort.abort(reason);
      }),
    );
    await using http = openHttpClient({ proxy: {} });
    const url = `http://127.0.0.1:${server.port}/`;
    await expect(ask(http, url, { signal: abort.signal })).rejects.toBe(reason);
    await closed;
  });
});

describe("disposal", () => {
  test("closes the connections, including that of an unread response, and refuses more requests", async () => {
    const closed: Promise<unknown>[] = [];
    const origin: RequestListener = (incoming, response) => {
      closed.push(once(incoming.socket, "close"));
      response.write("never ends");
    };
    const { server, settings } = await serverBehindProxy({ origin });
    const http = openHttpClient({ proxy: { ...settings.proxy, noProxy: "127.0.0.1" } });
    await ask(http, `http://127.0.0.1:${server.port}/`);
    await ask(http, `http://api.test:${server.port}/`);
    await http[Symbol.asyncDispose]();
    await Promise.all(closed);
    expect(closed).toHaveLength(2);
    await expect(ask(http, `http://127.0.0.1:${server.port}/`)).rejects.toThrow(/disposed/);
  });

  test("of an unused client does nothing", async () => {
    const http = openHttpClient({ proxy: { httpProxy: "not usable://" } });
    await expect(http[Symbol.asyncDispose]()).resolves.toBeUndefined();
  });
});

test.each([
  [{}, {}],
  [
    { HTTP_PROXY: "a", HTTPS_PROXY: "b", NO_PROXY: "c" },
    { httpProxy: "a", httpsProxy: "b", noProxy: "c" },
  ],
  [
    { http_proxy: "a", https_proxy: "b", no_proxy: "c" },
    { httpProxy: "a", httpsProxy: "b", noProxy: "c" },
  ],
  [{ https_proxy: "lower", HTTPS_PROXY: "upper" }, { httpsProxy: "lower" }],
  [{ https_proxy: "", HTTPS_PROXY: "upper" }, { httpsProxy: "upper" }],
  [
    { ALL_PROXY: "all", HTTP_PROXY: "own" },
    { httpProxy: "own", httpsProxy: "all" },
  ],
])("the variables %j give the proxy settings %j", (env, expected) => {
  expect(readProxySettings(env)).toEqual(expected);
});

test.each([
  [undefined, {}, []],
  [undefined, { NODE_EXTRA_CA_CERTS: "node.pem", SSL_CERT_FILE: "" }, []],
  ["own.pem", { NODE_EXTRA_CA_CERTS: "node.pem" }, ["own.pem", "node.pem"]],
  ["own.pem", { SSL_CERT_FILE: "system.pem" }, ["own.pem", "system.pem"]],
])("with the setting %s and the variables %j the CA files are %j", (setting, env, expected) => {
  expect(listCaFiles(setting, env)).toEqual(expected);
});

interface AskOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

async function ask(http: HttpClient, url: string, { headers = {}, signal }: AskOptions = {}) {
  const request = { method: "GET", headers, body: "" };
  const answer = await http.exchange(url, request, signal ?? AbortSignal.timeout(300_000));
  return {
    status: answer.status,
    async text() {
      let whole = "";
      for (let chunk = await answer.read(); chunk !== undefined; chunk = await answer.read())
        whole += chunk.toString("utf8");
      return whole;
    },
  };
}

const greet: RequestListener = (incoming, response) => response.end(`hello from ${incoming.url}`);

async function listen<T extends Server>(server: T): Promise<{ readonly port: number }> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port };
}

async function closedPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** Starts a server for any host name, and returns settings that reach it through its own proxy. */
async function serverBehindProxy(
  options: { secure?: boolean; origin?: RequestListener; credentials?: string } = {},
) {
  const { secure = false, origin = greet, credentials } = options;
  const server = await listen(secure ? createTlsServer(identity, origin) : createServer(origin));
  const proxy = await listenProxy(credentials === undefined ? {} : { credentials });
  const address = `http://127.0.0.1:${proxy.port}`;
  const settings: HttpSettings = { proxy: { httpProxy: address, httpsProxy: address } };
  return { server, proxy, settings };
}

async function listenProxy(options: ProxyOptions & { secure?: boolean } = {}) {
  const { secure, ...rest } = options;
  const proxy = await startProxy({ ...rest, ...(secure && { tls: identity }) });
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  return proxy;
}

async function failureOf(promise: Promise<unknown>): Promise<AppError> {
  const error: unknown = await promise.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(AppError);
  return error as AppError;
}

function expectNoSecret(error: AppError): void {
  expect(inspect(error, { depth: null, showHidden: true })).not.toMatch(/hunter2/);
}

/** Runs a script with `openHttpClient` in a process with these variables, and returns its output. */
async function runScript(body: string, variables: Record<string, string> = {}): Promise<string> {
  const module = JSON.stringify(await scriptModule(new URL("./http-client.ts", import.meta.url)));
  const script = `import { openHttpClient } from ${module};${body}`;
  const argv = [process.execPath, "--input-type=module", "--eval", script] as const;
  const env = { PATH: process.env["PATH"], ...variables };
  const { stdout, stderr } = await runProcess(
    argv,
    { env, cwd: process.cwd() },
    AbortSignal.timeout(300_000),
  );
  return stdout + stderr;
}
