import type { LookupAddress } from "node:dns";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { neverAborted } from "../time/never-aborted.ts";
import { type FetchRules, fetchUrl } from "./fetch-url.ts";
import type { LookUpAddresses } from "./public-address.ts";

const PUBLIC = { address: "93.184.216.34", family: 4 };
const LOOPBACK = { address: "127.0.0.1", family: 4 };

/** A server on all addresses of this machine that counts connections. */
async function openInternalServer(answer: RequestListener = (_, response) => void response.end("internal")) {
  let connections = 0;
  const server = createServer(answer).on("connection", () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, "::", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    connections: () => connections,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const get = (url: string, rules: Partial<FetchRules> = {}): Promise<number> =>
  fetchUrl(
    url,
    { variables: {}, allowsPrivate: false, ...rules },
    async (_, { status }) => status,
    neverAborted,
  );

/** A resolver that gives these addresses, one list after the other; the last one stays. */
function answering(...lists: readonly LookupAddress[][]): LookUpAddresses {
  const left = [...lists];
  return (_, __, callback) => {
    const [next = []] = left.length > 1 ? left.splice(0, 1) : left;
    queueMicrotask(() => callback(null, next));
  };
}

/** Ways to write a host of this machine, of a local network or of a metadata service. */
const INTERNAL_HOSTS = [
  "localhost",
  "LOCALHOST",
  "localhost.",
  "127.0.0.1",
  "127.1",
  "127.0.1",
  "127.255.255.254",
  "127.0.0.1.",
  "0",
  "0.0.0.0",
  "0x0",
  "00",
  "0.0",
  "2130706433",
  "0x7f000001",
  "017700000001",
  "0x7f.1",
  "0177.0.0.1",
  "0x7f.0x0.0x0.0x1",
  "0177.0.0.01",
  "127.0x1",
  "127.0.0x0.1",
  "0x7F.00.0.1",
  "①②⑦.⓪.⓪.①",
  "127。0。0。1",
  "%31%32%37.0.0.1",
  "ⓛocalhost",
  "[::1]",
  "[::]",
  "[0:0:0:0:0:0:0:1]",
  "[0000::0001]",
  "[::127.0.0.1]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[0:0:0:0:0:ffff:127.0.0.1]",
  "[::ffff:0:127.0.0.1]",
  "[64:ff9b::127.0.0.1]",
  "[2002:7f00:1::]",
  "[2001:0:7f00:1::]",
  "[fe80::1]",
  "[fec0::1]",
  "[fc00::1]",
  "[fd00:ec2::254]",
  "[ff02::1]",
  "[2001:db8::1]",
  "[100::1]",
  "169.254.169.254",
  "2852039166",
  "0xa9fea9fe",
  "[::ffff:169.254.169.254]",
  "169.254.43518",
  "10.0.0.1",
  "10.1",
  "172.16.0.1",
  "172.31.255.255",
  "192.168.0.1",
  "192.168.257",
  "100.64.0.1",
  "198.18.0.1",
  "192.0.0.192",
  "224.0.0.1",
  "255.255.255.255",
  "240.0.0.1",
  "localhost.localdomain",
  "[::ffff:0x7f.1]",
  "[64:ff9b::7f00:1]",
  "[64:ff9b:1::a00:1]",
  "[2002:a00:1::1]",
  "[fe80::1%25lo]",
  "[fe80::1%lo]",
  "[::1%25lo]",
  "127.0.0.1%00.example.com",
  "127\u30020\u30020\u30021",
  "１２７.0.0.1",
  "127.0.0.1\\@example.com",
  "metadata.google.internal",
  "METADATA.google.internal.",
  "metadata.azure.internal",
  "instance-data",
  "metadata",
];

it.each([...new Set(INTERNAL_HOSTS)])("agent K7: http://%s is not fetched", async (host) => {
  await using server = await openInternalServer();
  // As if a resolver knew names such as those of metadata services.
  const lookUp = host.includes("etadata") || host === "instance-data" ? answering([PUBLIC]) : undefined;
  for (const url of [`http://${host}:${server.port}/`, `http://${host}/`, `https://${host}:${server.port}/`])
    await expect(get(url, { lookUp }), url).rejects.toMatchObject({
      code: expect.stringMatching(/^(?:address-private|url-refused|http-failed)$/),
    });
  expect(server.connections()).toBe(0);
});

it("agent K7: control: where private addresses are allowed, the same spellings reach the server", async () => {
  await using server = await openInternalServer();
  for (const host of ["localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "①②⑦.⓪.⓪.①"])
    expect(await get(`http://${host}:${server.port}/`, { allowsPrivate: true }), host).toBe(200);
  expect(server.connections()).toBe(5);
});

it.each([
  "http://user@127.0.0.1:PORT/",
  "http://93.184.216.34:80@127.0.0.1:PORT/",
  "http://93.184.216.34@localhost:PORT/",
  "http://127.0.0.1:PORT#@93.184.216.34/",
  "http://127.0.0.1:PORT?@93.184.216.34/",
  "http:127.0.0.1:PORT",
  "http:\\\\127.0.0.1:PORT\\",
  "http:///127.0.0.1:PORT/",
  "  http://127.0.0.1:PORT/",
  "ht\ntp://127.0.0.1:PORT/",
  "file:///etc/passwd",
  "ftp://127.0.0.1:PORT/",
  "gopher://127.0.0.1:PORT/_x",
  "data:text/plain,x",
  "127.0.0.1:PORT",
  "//127.0.0.1:PORT",
])("agent K7: the address %j is not fetched", async (address) => {
  await using server = await openInternalServer();
  await expect(get(address.replace("PORT", String(server.port)))).rejects.toThrow();
  expect(server.connections()).toBe(0);
});

it.each([
  ["has only a private address", [LOOPBACK]],
  ["has a private address behind a public one", [PUBLIC, LOOPBACK]],
  ["has a private address before a public one", [LOOPBACK, PUBLIC]],
  ["has an address of a local link", [{ address: "fe80::1%lo", family: 6 }]],
  ["has an IPv4 address in an IPv6 one", [{ address: "::ffff:127.0.0.1", family: 6 }]],
  ["has no address", []],
])("agent K7: a name that %s is not fetched", async (_, addresses) => {
  await using server = await openInternalServer();
  await expect(
    get(`http://pages.example:${server.port}/`, { lookUp: answering([...addresses]) }),
  ).rejects.toMatchObject({ code: "address-private" });
  expect(server.connections()).toBe(0);
});

it("agent K7: a name that changes its address between the check and the connection is not fetched", async () => {
  await using server = await openInternalServer();
  for (const url of [`http://pages.example:${server.port}/`, `https://pages.example:${server.port}/`])
    await expect(get(url, { lookUp: answering([PUBLIC], [LOOPBACK]) })).rejects.toMatchObject({
      code: "address-private",
    });
  expect(server.connections()).toBe(0);
});

it("agent K7: a host that cannot be resolved is refused", async () => {
  await expect(get("http://no-such-host.invalid/")).rejects.toMatchObject({ code: "http-failed" });
});

it.each([
  "http://127.0.0.1:PORT/",
  "http://localhost:PORT/",
  "//127.0.0.1:PORT/",
  "http://2130706433:PORT/",
  "http://[::1]:PORT/",
  "http://[::ffff:7f00:1]:PORT/",
  "http://169.254.169.254/latest/meta-data/",
  "http://metadata.google.internal/",
  "http://user:pass@127.0.0.1:PORT/",
  "file:///etc/passwd",
  "http://pages.example:PORT/",
])("agent K7: a redirect to %s is not followed", async (location) => {
  await using server = await openInternalServer();
  // A proxy stands for the public internet, because a test reaches no public server.
  const asked: string[] = [];
  await using proxy = await openInternalServer((request, response) => {
    asked.push(request.url ?? "");
    response.writeHead(302, { location: location.replace("PORT", String(server.port)) }).end();
  });
  const variables = { http_proxy: `http://127.0.0.1:${proxy.port}` };
  await expect(
    get("http://93.184.216.34/page", { variables, lookUp: answering([LOOPBACK]) }),
  ).rejects.toThrow();
  expect(asked).toEqual(["http://93.184.216.34/page"]);
  expect(server.connections()).toBe(0);
});
