import { randomBytes } from "node:crypto";
import { describeWith, sshSettings } from "../../../test/support/services.ts";
import { jobsContract } from "./jobs.contract.ts";

describeWith("ssh", "jobs over ssh", (service) => {
  jobsContract({
    name: "ssh",
    shell: "bash",
    hasTestedShell: true, // by the local jobs, because the server runs on this machine
    target: async () => ({
      kind: "ssh",
      options: sshSettings(service),
      knownHosts: service.knownHosts,
      profileId: randomBytes(8).toString("hex"),
    }),
  });
});
