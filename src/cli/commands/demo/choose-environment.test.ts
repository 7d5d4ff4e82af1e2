import { expect, test } from "vitest";
import { chooseImage } from "./choose-environment.ts";

const LISTED = [
  "postgres:16",
  "debian:12",
  "<none>:<none>",
  "registry.example/tools:1",
  "busybox:latest",
  "",
];

test("the image from the settings comes first, however the engine spells its name", () => {
  expect(chooseImage(LISTED, "registry.example/tools:1")).toBe("registry.example/tools:1");
  expect(chooseImage(["busybox:latest", "localhost/own:latest"], "own")).toBe("localhost/own:latest");
  expect(chooseImage(["busybox:latest", "docker.io/library/debian:12"], "debian:12")).toBe(
    "docker.io/library/debian:12",
  );
});

test("next comes a small base image, then any named image", () => {
  expect(chooseImage(LISTED, "missing:1")).toBe("busybox:latest");
  expect(chooseImage(["postgres:16", "docker.io/library/alpine:3"], "")).toBe("docker.io/library/alpine:3");
  expect(chooseImage(["<none>:<none>", "postgres:16"], "")).toBe("postgres:16");
  expect(chooseImage(["<none>:<none>", ""], "")).toBeUndefined();
});
