import { expect, it } from "vitest";
import { isPublicAddress } from "./public-address.ts";

it.each([
  ...["127.0.0.1", "10.1.2.3", "172.31.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0"],
  ...["224.0.0.1", "255.255.255.255", "198.18.0.1", "::1", "::", "fe80::1", "fc00::1", "ff02::1"],
  ...[
    "::ffff:10.0.0.1",
    "::ffff:8.8.8.8",
    "64:ff9b::a00:1",
    "2002:a00:1::",
    "2001:db8::1",
    "not an address",
    "::1%lo",
    "2606:4700::1111%eth0",
  ],
])("agent K7: %s is not public", (address) => {
  expect(isPublicAddress(address)).toBe(false);
});

it.each(["8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450::1"])(
  "agent K7: %s is public",
  (address) => {
    expect(isPublicAddress(address)).toBe(true);
  },
);
