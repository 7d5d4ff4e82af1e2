import { describeWith } from "../../test/support/services.ts";
import { openLocalPlace, openSandboxPlace } from "../../test/support/tool-lab.ts";
import { toolContract } from "./tool.contract.ts";

toolContract("the local environment", openLocalPlace);

describeWith("docker", "in a sandbox", (service) => {
  const tools = ["terminal", "read_file", "write_file", "patch", "search_files"];
  toolContract("busybox", () => openSandboxPlace(service), tools);
});
