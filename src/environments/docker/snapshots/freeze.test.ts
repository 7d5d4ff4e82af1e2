import { once } from "node:events";
import { expect, it } from "vitest";
import { never, openDockerLab } from "../../../../test/support/docker.ts";
import { scale } from "../../../../test/support/scale.ts";
import { describeWith } from "../../../../test/support/services.ts";
import { systemClock } from "../../../lib/clock.ts";
import { createEngineSocket } from "../engine-socket.ts";
import { openFreeze } from "./freeze.ts";

describeWith("docker", "a container that is held still", (service) => {
  it("can be woken whenever that was, also at the start of a command", async () => {
    await using lab = await openDockerLab(service);
    const label = `hermes-profile-id=${lab.profileId}`;
    const id = await lab.docker("run", "-d", "--label", label, service.images.busybox, "sleep", "1000");
    const socket = createEngineSocket(service.socket);
    for (let round = 0; round < scale.killMoments; round++) {
      const shell = socket.startShell(id);
      const closed = once(shell as never, "close");
      shell.stdout.resume();
      shell.stderr.resume();
      shell.stdin.end("sleep 0.1\n");
      await systemClock.sleep((round * 60) / scale.killMoments, never); // later in its start each time
      {
        await using freeze = await openFreeze(lab.engine, id, never);
        expect(freeze.complaint).toBeUndefined();
        expect(await lab.inspect(id, "{{.State.Status}}")).toBe("paused");
      }
      expect(await lab.inspect(id, "{{.State.Status}}")).toBe("running");
      await closed;
    }
  });
});
