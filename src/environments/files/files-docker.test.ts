import { describeEachImage } from "../../../test/support/docker-images.ts";
import { describeWith } from "../../../test/support/services.ts";
import { ADD_NOBODY, allFilesContracts } from "./all-files.contract.ts";

describeWith("docker", "the docker environment", (service) => {
  describeEachImage(service, ({ image, open }) => {
    allFilesContracts({
      name: `docker/${image}`,
      folder: "/tmp",
      smallFolder: "/run",
      setUp: ADD_NOBODY,
      open,
    });
  });
});
