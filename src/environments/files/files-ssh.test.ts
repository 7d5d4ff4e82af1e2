import { randomBytes } from "node:crypto";
import { describeWith, sshSettings } from "../../../test/support/services.ts";
import { terminalOptions } from "../options.ts";
import { openSshEnvironment } from "../ssh/ssh-environment.ts";
import { allFilesContracts } from "./all-files.contract.ts";

describeWith("ssh", "the ssh environment", (service) => {
  const profileId = randomBytes(8).toString("hex");
  allFilesContracts({
    name: "ssh",
    hasTestedShell: true, // by the local files, because the server runs on this machine
    folder: "/tmp",
    open: async () =>
      openSshEnvironment({
        options: terminalOptions.parse(sshSettings(service)),
        variables: { PATH: process.env["PATH"] },
        profileId,
        extraArguments: ["-F", "none", "-o", `UserKnownHostsFile=${service.knownHosts}`],
      }),
  });
});
