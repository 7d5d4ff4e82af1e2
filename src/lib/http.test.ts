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
import { type ProxyOptions, startProxy } from "../../test/support/proxy.ts";
import { makeTlsIdentity, type TlsIdentity } from "../../test/support/tls-identity.ts";
import { AppError } from "./errors.ts";
import { caFilesOf, createHttpClient, type HttpClient, type HttpSettings, proxySettings } from "./http.ts";
import { runProcess } from "./process.ts";

/** Too long a label for any name server, so that it fails here without a question to the network. */
const NO_SUCH_NAME = `${"x".repeat(64)}.test`;

/** The request of a script that runs in a process of its own. */
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
  test("an http server is asked directly", async () => {
    const server = await listen(
      createServer((_, response) => {
        response.write("hel");
        response.end("lo");
      }),
    );
    await using http = createHttpClient({ proxy: {} });
    const response = await ask(http, `http://127.0.0.1:${server.port}/`);
    expect(response.status).toBe(200);
    expect(await response.text()).toBe("hello");
  });

  test.each(["direct", "proxy", "tunnel"])(
    "a handshake that never ends does so with its client (%s)",
    async (way) => {
      const silent = createTcpServer();
      silent.listen(0, "127.0.0.1");
      await once(silent, "listening");
      onTestFinished(() => void silent.close());
      const { port } = silent.address() as AddressInfo;
      const proxy =
        way === "direct" ? {} : { httpsProxy: `http${way === "proxy" ? "s" : ""}://localhost:${port}` };
      const http = createHttpClient({ proxy, connectTimeoutMs: 3_600_000 });
      const stop = new AbortController();
      const connected = once(silent, "connection");
      const asking = ask(http, `https://127.0.0.1:${port}/`, { signal: stop.signal });
      asking.catch(() => undefined);
      const [socket] = (await connected) as [Socket];
      socket.on("error", () => undefined);
      const closed = new Promise((resolve) => socket.once("close", resolve));
      await once(socket, "data");
      if (way === "tunnel") {
        socket.write("HTTP/1.1 200 OK\r\n\r\n"); // and nobody is at its end
        await once(socket, "data");
      }
      stop.abort(new Error("enough"));
      await expect(asking).rejects.toThrow("enough");
      await http[Symbol.asyncDispose]();
      await closed;
    },
  );

  test("proxy variables of the process are not looked at", async () => {
    const server = await listen(createServer((_, response) => response.end("direct")));
    const dead = "http://127.0.0.1:1";
    const proxies = {
      http_proxy: dead,
      HTTP_PROXY: dead,
      all_proxy: dead,
      ALL_PROXY: dead,
      NODE_USE_ENV_PROXY: "1",
    };
    const script = `
      const http = createHttpClient({ proxy: {} });
      const answer = await http.exchange("http://127.0.0.1:${server.port}/", ${ASK}, new AbortController().signal);
      for (let chunk = await answer.read(); chunk; chunk = await answer.read()) console.log(String(chunk));
      await http[Symbol.asyncDispose]();`;
    expect(await runScript(script, proxies)).toBe("direct\n");
  });

  test("NO_PROXY of the process is not looked at", async () => {
    const { server, proxy, settings } = await serverBehindProxy();
    const script = `
      const http = createHttpClient(${JSON.stringify(settings)});
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
      const http = createHttpClient({ proxy: {} });
      const before = loaded();
      await http.exchange("http://127.0.0.1:${server.port}/", ${ASK}, new AbortController().signal);
      console.log(before, loaded());
      await http[Symbol.asyncDispose]();`;
    expect(await runScript(script)).toBe("false true\n");
  });

  test("it works in a bundle as it does from source", async () => {
    const server = await listen(createServer((_, response) => response.end("bundled")));
    const script = `
      import { createHttpClient } from "./http.ts";
      const http = createHttpClient({ proxy: {} });
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
  test("an https address is reached by a tunnel, its name resolved by the proxy alone", async () => {
    const { server, proxy, settings } = await serverBehindProxy({ secure: true });
    await using http = createHttpClient({ ...settings, caFiles: [caFile] });
    expect(await (await ask(http, `https://api.test:${server.port}/a`)).text()).toBe("hello from /a");
    expect(proxy.log).toEqual([`CONNECT api.test:${server.port}`]);
  });

  test("an http address is asked of the proxy without a tunnel", async () => {
    const { server, proxy, settings } = await serverBehindProxy();
    await using http = createHttpClient(settings);
    expect(await (await ask(http, `http://api.test:${server.port}/a?b=c`)).text()).toBe("hello from /a?b=c");
    expect(proxy.log).toEqual([`GET http://api.test:${server.port}/a?b=c`]);
  });

  test("that is itself reached by TLS, the custom authority counts too", async () => {
    const server = await listen(createTlsServer(identity, greet));
    const proxy = await listenProxy({ secure: true });
    await using http = createHttpClient({
      proxy: { httpsProxy: `https://localhost:${proxy.port}` },
      caFiles: [caFile],
    });
    expect(await (await ask(http, `https://api.test:${server.port}/`)).text()).toBe("hello from /");
    expect(proxy.log).toEqual([`CONNECT api.test:${server.port}`]);
  });

  test("a proxy for http does not serve https", async () => {
    const server = await listen(createTlsServer(identity, greet));
    await using http = createHttpClient({ proxy: { httpProxy: "http://127.0.0.1:1" }, caFiles: [caFile] });
    expect((await ask(http, `https://localhost:${server.port}/`)).status).toBe(200);
  });

  test("without a scheme is taken for http", async () => {
    const { server, proxy } = await serverBehindProxy();
    await using http = createHttpClient({ proxy: { httpProxy: `localhost:${proxy.port}` } });
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
      await using http = createHttpClient({
        proxy: { httpProxy: address, httpsProxy: address },
        caFiles: [caFile],
      });
      const response = await ask(http, `${secure ? "https" : "http"}://api.test:${server.port}/`);
      expect(response.status).toBe(200);
      expect(seen).toEqual([undefined]);
    }
  });

  test.each([false, true])(
    "that wants other credentials, the failure shows none (https: %s)",
    async (secure) => {
      const { server, proxy } = await serverBehindProxy({ secure, credentials: "other:one" });
      const address = `http://name:hunter2@127.0.0.1:${proxy.port}`;
      await using http = createHttpClient({
        proxy: { httpProxy: address, httpsProxy: address },
        caFiles: [caFile],
      });
      const error = await failureOf(
        ask(http, `${secure ? "https" : "http"}://api.test:${server.port}/?key=hunter2`),
      );
      expect(error.code).toBe("http-failed");
      expect(error.message).toContain(`api.test:${server.port} through the proxy 127.0.0.1:${proxy.port}`);
      expect(error.message).toContain("wants a user name and password that it accepts (407)");
      expect(error.hint).toContain("http://NAME:PASSWORD@HOST:PORT");
      expectNoSecret(error);
    },
  );

  test("that does not answer, the failure names it", async () => {
    const host = `127.0.0.1:${await closedPort()}`;
    await using http = createHttpClient({ proxy: { httpsProxy: `http://name:hunter2@${host}` } });
    const error = await failureOf(ask(http, "https://api.test/?key=hunter2"));
    expect(error.message).toBe(
      `Cannot reach api.test through the proxy ${host}: the connection was refused.`,
    );
    expectNoSecret(error);
  });

  test.each<[string, (socket: Socket) => void]>([
    ["closes the connection", (socket) => socket.end()],
    ["breaks the connection off", (socket) => socket.resetAndDestroy()],
    ["ends its answer in the middle", (socket) => socket.end("HTTP/1.1 200 Conn")],
    ["closes the tunnel at once", (socket) => socket.end("HTTP/1.1 200 OK\r\n\r\n")],
  ])("that %s is asked once, and the failure names it", async (_, answer) => {
    let connections = 0;
    const server = createTcpServer((socket) => {
      connections++;
      socket.on("error", () => undefined).once("data", () => answer(socket));
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => void server.close());
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    await using http = createHttpClient({ proxy: { httpsProxy: `http://${host}` } });
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
      await using http = createHttpClient({ proxy: { httpProxy } });
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
    await using http = createHttpClient({ proxy: { ...settings.proxy, noProxy } });
    expect((await ask(http, `http://127.0.0.1:${server.port}/`)).status).toBe(200);
    expect(proxy.log).toHaveLength(directly ? 0 : 1);
  });

  test("with the port that is asked", async () => {
    const { server, proxy, settings } = await serverBehindProxy();
    await using http = createHttpClient({
      proxy: { ...settings.proxy, noProxy: `localhost:${server.port}` },
    });
    expect((await ask(http, `http://localhost:${server.port}/`)).status).toBe(200);
    expect(proxy.log).toEqual([]);
  });

  test("with a domain keeps its subdomains from the proxy", async () => {
    const { proxy, settings } = await serverBehindProxy();
    await using http = createHttpClient({ proxy: { ...settings.proxy, noProxy: "test" } });
    const error = await failureOf(ask(http, `http://${NO_SUCH_NAME}/`));
    expect(error.message).not.toContain("proxy");
    expect(proxy.log).toEqual([]);
  });
});

describe("certificates", () => {
  test("of an authority in the CA file are trusted", async () => {
    const server = await listen(createTlsServer(identity, greet));
    await using http = createHttpClient({ proxy: {}, caFiles: [caFile] });
    expect(await (await ask(http, `https://localhost:${server.port}/`)).text()).toBe("hello from /");
    expect(await (await ask(http, `https://127.0.0.1:${server.port}/`)).text()).toBe("hello from /");
  });

  test.each([false, true])(
    "of an unknown authority are refused, with the setting that helps (proxy: %s)",
    async (proxied) => {
      const { server, settings } = await serverBehindProxy({ secure: true });
      await using http = createHttpClient({ proxy: proxied ? settings.proxy : {}, caKey: "section.ca_file" });
      const error = await failureOf(ask(http, `https://localhost:${server.port}/`));
      expect(error.message).toMatch(/^Cannot reach localhost:\d+.*: its certificate is not trusted/);
      expect(error.hint).toContain("`section.ca_file`");
    },
  );

  test("are not looked at when the settings say so", async () => {
    const { server, settings } = await serverBehindProxy({ secure: true });
    for (const proxy of [{}, settings.proxy]) {
      await using http = createHttpClient({ proxy, verifiesTls: false });
      expect((await ask(http, `https://localhost:${server.port}/`)).status).toBe(200);
    }
  });

  test("for another name are refused", async () => {
    const { server, settings } = await serverBehindProxy({ secure: true });
    await using http = createHttpClient({ ...settings, caFiles: [caFile] });
    const error = await failureOf(ask(http, `https://other.test:${server.port}/`));
    expect(error.message).toMatch(/made out to another name\.$/);
    expect(error.hint).toContain("the name that its certificate is made out to");
  });

  test("from a file that cannot be used are a failure until it is repaired", async () => {
    const server = await listen(createTlsServer(identity, greet));
    const file = join(folder, "repaired.pem");
    await using http = createHttpClient({ proxy: {}, caFiles: [file] });
    const error = await failureOf(ask(http, `https://localhost:${server.port}/`));
    expect(error).toMatchObject({ code: "file-unreadable", message: expect.stringContaining(file) });
    await writeFile(file, await readFile(caFile));
    expect((await ask(http, `https://localhost:${server.port}/`)).status).toBe(200);
  });
});

describe("a failure", () => {
  const failure = async (url: string, init: AskOptions = {}) => {
    await using http = createHttpClient({ proxy: {} });
    const error = await failureOf(ask(http, url, init));
    expect(error.code).toBe("http-failed");
    expectNoSecret(error);
    return error;
  };

  test("names the host and that the connection was refused", async () => {
    const port = await closedPort();
    const { message, hint } = await failure(`http://127.0.0.1:${port}/path?key=hunter2`);
    expect(message).toBe(`Cannot reach 127.0.0.1:${port}: the connection was refused.`);
    expect(hint).toBe("Is the server running, and is it this port?");
    expect(await failure(`http://localhost:${port}/`)).toMatchObject({
      message: expect.stringMatching(/refused/),
      hint,
    });
  });

  test("of TLS where the other side has none is a question, and says what to write", async () => {
    const { port } = await listen(createServer(greet));
    const { message, hint } = await failure(`https://127.0.0.1:${port}/`);
    expect(message).toMatch(/does not speak TLS; is it http instead of https\?$/);
    expect(hint).toContain("Write the address with http://");
  });

  test("names the host that has no address", async () => {
    expect((await failure(`https://${NO_SUCH_NAME}/?key=hunter2`)).message).toMatch(
      /the name x{64}\.test was not found/,
    );
  });

  test("says that the connection was closed", async () => {
    const server = await listen(createServer((incoming) => incoming.socket.destroy()));
    expect((await failure(`http://127.0.0.1:${server.port}/?key=hunter2`)).message).toMatch(
      /closed before the answer/,
    );
  });

  test("says that a server without TLS was asked for https", async () => {
    const server = await listen(createServer(greet));
    expect((await failure(`https://127.0.0.1:${server.port}/`)).message).toMatch(/does not speak TLS/);
  });

  test("shows neither an address with a password nor one that is none", async () => {
    expect((await failure("http://name:hunter2@127.0.0.1:1/")).message).toMatch(
      /127\.0\.0\.1:1 carries a user name/,
    );
    expect((await failure("not a url hunter2")).message).toMatch(/not a URL/);
  });

  test("shows no key with a line break in it", async () => {
    const error = await failure("http://127.0.0.1:1/", { headers: { authorization: "Bearer hun\nhunter2" } });
    expect(error.message).toMatch(/A header for 127\.0\.0\.1:1/);
  });

  test("does not stand for an answer with a bad status", async () => {
    const server = await listen(createServer((_, response) => response.writeHead(503).end("busy")));
    await using http = createHttpClient({ proxy: {} });
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
    await using http = createHttpClient({ proxy: {}, caFiles: ["not looked at"] });
    const reason = new Error("too early");
    const signal = AbortSignal.abort(reason);
    await expect(ask(http, `http://127.0.0.1:${server.port}/`, { signal })).rejects.toBe(reason);
    expect(asked).toBe(0);
  });

  test("while the answer is awaited rejects with its reason and closes the connection", async () => {
    const abort = new AbortController();
    const reason = new TypeError("changed my mind", { cause: "a reason that looks like a failure" });
    let closed: Promise<unknown> | undefined;
    const server = await listen(
      createServer((incoming) => {
        closed = once(incoming.socket, "close");
        abort.abort(reason);
      }),
    );
    await using http = createHttpClient({ proxy: {} });
    const url = `http://127.0.0.1:${server.port}/`;
    await expect(ask(http, url, { signal: abort.signal })).rejects.toBe(reason);
    await closed;
  });
});

describe("disposal", () => {
  test("ends the connections, also of an answer that nobody reads, and refuses more requests", async () => {
    const closed: Promise<unknown>[] = [];
    const origin: RequestListener = (incoming, response) => {
      closed.push(once(incoming.socket, "close"));
      response.write("never ends");
    };
    const { server, settings } = await serverBehindProxy({ origin });
    const http = createHttpClient({ proxy: { ...settings.proxy, noProxy: "127.0.0.1" } });
    await ask(http, `http://127.0.0.1:${server.port}/`);
    await ask(http, `http://api.test:${server.port}/`);
    await http[Symbol.asyncDispose]();
    await Promise.all(closed);
    expect(closed).toHaveLength(2);
    await expect(ask(http, `http://127.0.0.1:${server.port}/`)).rejects.toThrow(/disposed/);
  });

  test("of one that was never used does nothing", async () => {
    const http = createHttpClient({ proxy: { httpProxy: "not usable://" } });
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
])("of the variables %j the proxy settings are %j", (env, expected) => {
  expect(proxySettings(env)).toEqual(expected);
});

test.each([
  [undefined, {}, []],
  [undefined, { NODE_EXTRA_CA_CERTS: "node.pem", SSL_CERT_FILE: "" }, []],
  ["own.pem", { NODE_EXTRA_CA_CERTS: "node.pem" }, ["own.pem", "node.pem"]],
  ["own.pem", { SSL_CERT_FILE: "system.pem" }, ["own.pem", "system.pem"]],
])("with the setting %s and the variables %j authorities come from %j", (setting, env, expected) => {
  expect(caFilesOf(setting, env)).toEqual(expected);
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

/** A server for whatever is asked, and the settings that lead to it through a proxy of its own. */
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

/** Runs a script that has `createHttpClient` in a process with these variables, and gives what it printed. */
async function runScript(body: string, variables: Record<string, string> = {}): Promise<string> {
  const module = JSON.stringify(new URL("./http.ts", import.meta.url));
  const script = `import { createHttpClient } from ${module};${body}`;
  const argv = [process.execPath, "--import", "tsx", "--input-type=module", "--eval", script] as const;
  const env = { PATH: process.env["PATH"], ...variables };
  const { stdout, stderr } = await runProcess(
    argv,
    { env, cwd: process.cwd() },
    AbortSignal.timeout(300_000),
  );
  return stdout + stderr;
}
