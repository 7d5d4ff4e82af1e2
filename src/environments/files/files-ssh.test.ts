import { randomBytes } from "node:crypto";
import { describeWith } from "../../../test/support/services.ts";
import { terminalOptions } from "../options.ts";
import { openSshEnvironment } from "../ssh/ssh-environment.ts";
import { allFilesContracts } from "./all-files.contract.ts";

describeWith("ssh", "the ssh environment", (service) => {
  const profileId = randomBytes(8).toString("hex");
  allFilesContracts({
    name: "ssh",
    folder: "/tmp",
    open: async () =>
      openSshEnvironment({
        options: terminalOptions.parse({
          backend: "ssh",
          ssh_host: service.host,
          ssh_user: service.user,
          ssh_port: service.port,
          ssh_key: service.identityFile,
        }),
        variables: { PATH: process.env["PATH"] },
        profileId,
        extraArguments: ["-F", "none", "-o", `UserKnownHostsFile=${service.knownHosts}`],
      }),
  });
});
