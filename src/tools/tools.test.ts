import { expect, test } from "vitest";
import { createWord } from "../../test/support/documents.ts";
import { describeWith } from "../../test/support/services.ts";
import {
  openLocalTestEnvironment,
  openSandboxTestEnvironment,
  openToolLab,
} from "../../test/support/tool-lab.ts";
import { toolContract } from "./tool.contract.ts";

toolContract("the local environment", openLocalTestEnvironment);

describeWith("docker", "in a sandbox", (service) => {
  const tools = ["terminal", "read_file", "write_file", "patch", "search_files"];
  toolContract("busybox", () => openSandboxTestEnvironment(service), tools);

  test("C3: a Word document in a sandbox is read as text", async () => {
    await using environment = await openSandboxTestEnvironment(service);
    const setUp = `echo '${createWord().toString("base64")}' | base64 -d > a.docx`;
    await using own = await openToolLab(environment, { setUp });
    expect((await own.call("read_file", { path: "a.docx" })).text).toContain(
      "1|## Plan & goals\n2|- first\tpoint",
    );
  });
});
