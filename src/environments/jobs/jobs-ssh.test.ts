import { randomBytes } from "node:crypto";
import { describeWith } from "../../../test/support/services.ts";
import { jobsContract } from "./jobs.contract.ts";

describeWith("ssh", "jobs over ssh", ({ host, user, port, identityFile, knownHosts }) => {
  jobsContract({
    name: "ssh",
    shell: "bash",
    place: async () => ({
      kind: "ssh",
      options: { backend: "ssh", ssh_host: host, ssh_user: user, ssh_port: port, ssh_key: identityFile },
      knownHosts,
      profileId: randomBytes(8).toString("hex"),
    }),
  });
});
