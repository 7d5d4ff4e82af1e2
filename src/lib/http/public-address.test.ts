import { expect, it } from "vitest";
import { isPublicAddress, requirePublicHost } from "./public-address.ts";

it.each([
  ...["127.0.0.1", "10.1.2.3", "172.31.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0"],
  ...["224.0.0.1", "255.255.255.255", "198.18.0.1", "::1", "::", "fe80::1", "fc00::1", "ff02::1"],
  ...["::ffff:10.0.0.1", "::ffff:8.8.8.8", "64:ff9b::a00:1", "2002:a00:1::", "2001:db8::1", "not an address"],
])("agent K7: %s is not public", (address) => {
  expect(isPublicAddress(address)).toBe(false);
});

it.each(["8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450::1"])(
  "agent K7: %s is public",
  (address) => {
    expect(isPublicAddress(address)).toBe(true);
  },
);

/** Ways to write the address of this machine, of a local network or of a metadata service. */
const INTERNAL_URLS = [
  ...[
    "http://localhost",
    "http://LOCALHOST",
    "http://localhost.",
    "http://localhost:80",
    "http://user@localhost",
  ],
  ...["http://127.0.0.1", "http://127.1", "http://127.0.1", "http://127.255.255.254", "http://127.0.0.1."],
  ...["http://0", "http://0.0.0.0", "http://0x0", "http://00", "http://0.0"],
  ...["http://2130706433", "http://0x7f000001", "http://017700000001", "http://0x7f.1", "http://0177.0.0.1"],
  ...[
    "http://0x7f.0x0.0x0.0x1",
    "http://0177.0.0.01",
    "http://127.0x1",
    "http://127.0.0x0.1",
    "http://0x7F.00.0.1",
  ],
  ...[
    "http://①②⑦.⓪.⓪.①",
    "http://127。0。0。1",
    "http://127.0.0.1",
    "http://%31%32%37.0.0.1",
    "http://ⓛocalhost",
  ],
  ...[
    "http://[::1]",
    "http://[::]",
    "http://[0:0:0:0:0:0:0:1]",
    "http://[0000::0001]",
    "http://[::127.0.0.1]",
  ],
  ...[
    "http://[::ffff:127.0.0.1]",
    "http://[::ffff:7f00:1]",
    "http://[0:0:0:0:0:ffff:127.0.0.1]",
    "http://[::ffff:0:127.0.0.1]",
  ],
  ...[
    "http://[64:ff9b::127.0.0.1]",
    "http://[2002:7f00:1::]",
    "http://[2001:0:7f00:1::]",
    "http://[fe80::1]",
    "http://[fec0::1]",
  ],
  ...[
    "http://[fc00::1]",
    "http://[fd00:ec2::254]",
    "http://[ff02::1]",
    "http://[2001:db8::1]",
    "http://[100::1]",
  ],
  ...[
    "http://169.254.169.254",
    "http://2852039166",
    "http://0xa9fea9fe",
    "http://[::ffff:169.254.169.254]",
    "http://169.254.43518",
  ],
  ...[
    "http://10.0.0.1",
    "http://10.1",
    "http://172.16.0.1",
    "http://172.31.255.255",
    "http://192.168.0.1",
    "http://192.168.257",
  ],
  ...[
    "http://100.64.0.1",
    "http://198.18.0.1",
    "http://192.0.0.192",
    "http://224.0.0.1",
    "http://255.255.255.255",
    "http://240.0.0.1",
  ],
];

it.each(INTERNAL_URLS)("agent K7: %s is refused", async (url) => {
  await expect(requirePublicHost(new URL(url).hostname)).rejects.toThrow();
});

it("agent K7: a host that cannot be resolved is refused", async () => {
  await expect(requirePublicHost("no-such-host.invalid")).rejects.toThrow();
});
