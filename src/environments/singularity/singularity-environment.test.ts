import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type ApptainerLab,
  describeWithApptainer,
  openApptainerLab,
} from "../../../test/support/apptainer.ts";
import { longEnough } from "../../../test/support/long-enough.ts";
import { collect, environmentContract } from "../environment.contract.ts";
import type { EnvironmentRequest } from "../environment-request.ts";
import { openEnvironment } from "../open-environment.ts";
import { terminalOptions } from "../options.ts";
import { reclaimInstances } from "./reclaim-instances.ts";

describeWithApptainer("the singularity environment with a real apptainer", ({ program, images }) => {
  for (const [image, shell] of [
    ["bash", "bash"],
    ["busybox", "sh"],
  ] as const) {
    describe(`with the ${image} image`, () => {
      let lab: ApptainerLab;
      beforeAll(async () => {
        lab = await openApptainerLab(program, images[image]);
      });
      afterAll(async () => {
        await lab[Symbol.asyncDispose]();
      });
      environmentContract({
        name: `singularity/${image}`,
        shell,
        folder: "/tmp",
        open: async () => lab.open(),
      });
    });
  }

  const openLab = () => openApptainerLab(program, images.busybox);

  test("F64: only declared variables of the host are visible, and their values are in no argument or state", async () => {
    await using lab = await openLab();
    const secret = `s-${randomBytes(8).toString("hex")}`;
    lab.values.set("GIVEN", secret).set("KEPT", "not this");
    await using environment = lab.open({ env_passthrough: ["GIVEN"] });
    const print = [
      'echo "$GIVEN|$KEPT|$HOME"',
      'all=$(cat /proc/[0-9]*/cmdline /proc/1/environ | tr "\\0" " ")',
      'case $all in *"$GIVEN"*) echo leaked ;; *) echo clean ;; esac',
    ].join("; ");
    expect((await collect(environment, print)).stdout).toBe(`${secret}||/root\nclean\n`);
  });

  test("B4: simultaneous environments share one instance, which keeps running when they are closed", async () => {
    await using lab = await openLab();
    const environments = Array.from({ length: 6 }, () => lab.open());
    const runs = await Promise.all(
      environments.map((environment) => collect(environment, "echo x >> /root/seen")),
    );
    expect(runs.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(await lab.instances()).toEqual([lab.spec().name]);
    const [first] = environments;
    if (first === undefined) throw new Error("no environment was opened");
    expect((await collect(first, "wc -l < /root/seen")).stdout.trim()).toBe("6");
    await Promise.all(environments.map((environment) => environment[Symbol.asyncDispose]()));
    expect(await lab.instances()).toEqual([lab.spec().name]);
  });

  test("B4: files in the home folder, the workspace and the image survive the instance", async () => {
    await using lab = await openLab();
    await using environment = lab.open();
    await collect(
      environment,
      "echo a > /root/kept; echo b > /workspace/kept; echo c > /etc/kept; echo d > /tmp/gone",
    );
    await lab.stop(lab.spec().name);
    const run = await collect(environment, "cat /root/kept /workspace/kept /etc/kept; ls /tmp; pwd");
    expect(run.stdout).toBe("a\nb\nc\n/root\n");
    expect(run.notices.join()).toContain("new one");
  });

  test("B4: without persistence, closing the last environment stops the instance and removes its files", async () => {
    await using lab = await openLab();
    const settings = { container_persistent: false };
    const first = lab.open(settings);
    const second = lab.open(settings);
    await collect(first, "echo x > /root/kept; echo x > /etc/kept");
    expect((await collect(second, "cat /root/kept /etc/kept")).stdout).toBe("x\nx\n");
    await first[Symbol.asyncDispose]();
    expect((await collect(second, "cat /root/kept")).stdout).toBe("x\n");
    await second[Symbol.asyncDispose]();
    expect(await lab.instances()).toEqual([]);
    await using third = lab.open(settings);
    expect((await collect(third, "ls /root /workspace /etc/kept")).stdout).not.toContain("kept");
  });

  test("B4: an unshared instance ends with its environment", async () => {
    await using lab = await openLab();
    const settings = { docker_persist_across_processes: false };
    {
      await using one = lab.open(settings);
      await using other = lab.open(settings);
      await Promise.all([collect(one, "true"), collect(other, "true")]);
      expect(new Set(await lab.instances()).size).toBe(2);
    }
    expect(await lab.instances()).toEqual([]);
  });

  test("B4: an instance that was unused for a long time is stopped at the next start, others are not", async () => {
    await using lab = await openLab();
    const { builder, reporter, profileId } = lab;
    const reclaim = (afterSeconds: number, settings: object = {}) =>
      reclaimInstances(
        {
          engine: builder.engine,
          spec: lab.spec(),
          options: terminalOptions.parse({ docker_idle_ttl_seconds: 1_000, ...settings }),
          profileId,
          reporter,
          now: Date.now() + afterSeconds * 1_000,
        },
        AbortSignal.timeout(300_000),
      );
    const held = lab.open();
    await using jobs = lab.open({}, "jobs");
    await collect(held, "true");
    await reclaim(2_000, { docker_max_age_seconds: 1_000 });
    expect(await lab.instances()).toHaveLength(1);
    await collect(jobs, "sleep 600 >/dev/null 2>&1 &");
    await jobs[Symbol.asyncDispose]();
    await reclaim(2_000);
    expect(await lab.instances()).toHaveLength(2);
    await held[Symbol.asyncDispose]();
    await reclaim(500);
    await reclaim(2_000, { docker_orphan_reaper: false });
    await reclaim(2_000, { docker_idle_ttl_seconds: 0 });
    expect(await lab.instances()).toHaveLength(2);
    expect(lab.notices).toEqual([]);
    await reclaim(2_000);
    expect(await lab.instances()).toEqual([lab.spec({}, "jobs").name]);
    expect(lab.notices.join()).toContain("it was unused");
    await reclaim(2_000, { docker_max_age_seconds: 1_500 });
    expect(await lab.instances()).toEqual([]);
  });

  test("an instance with a running job is not stopped, however old it is", async () => {
    await using lab = await openLab();
    const { builder, reporter, profileId } = lab;
    await using environment = lab.open();
    const folder = "/tmp/hermes-jobs-0/proc_0123456789ab";
    await collect(environment, `sh -c 'sleep 600; :' hermes-job ${folder} sh none 0022 >/dev/null 2>&1 &`);
    await environment[Symbol.asyncDispose]();
    const options = terminalOptions.parse({ docker_max_age_seconds: 1_000 });
    const now = Date.now() + 2_000_000;
    const signal = AbortSignal.timeout(300_000);
    await reclaimInstances(
      { engine: builder.engine, spec: lab.spec(), options, profileId, reporter, now },
      signal,
    );
    expect(await lab.instances()).toHaveLength(1);
  });

  test("an instance that is stopped during a command is reported, and the command is not run again", async () => {
    await using lab = await openLab();
    await using environment = lab.open();
    await collect(environment, "true");
    let stopped: Promise<void> | undefined;
    const lost = await collect(environment, "echo started; sleep 600", {
      onOutput: () => {
        stopped ??= lab.stop(lab.spec().name);
      },
    });
    await stopped;
    expect(lost).toMatchObject({ ended: "lost", exitCode: 125 });
    expect(lost.notices.join(" ")).toMatch(/not run again/);
    expect((await collect(environment, "echo next")).stdout).toBe("next\n");
  });

  test.runIf(process.getuid?.() === 0)(
    "root in the instance has few capabilities, cannot gain more, can end children of other users, and gets a notice",
    async () => {
      await using lab = await openLab();
      await using environment = lab.open();
      const run = await collect(environment, "grep -E '^(CapEff|CapBnd|NoNewPrivs)' /proc/self/status");
      expect(run.stdout.replaceAll("\t", " ")).toBe(
        "CapEff: 00000000000000eb\nCapBnd: 00000000000000eb\nNoNewPrivs: 1\n",
      );
      expect(run.notices.join()).toContain("runs as root");
      const script = [
        "echo nobody:x:65534:65534::/:/bin/sh >> /etc/passwd",
        "su nobody -s /bin/sh -c 'echo > /tmp/nobody-ran; sleep 4321' &",
        "wait",
      ].join("\n");
      const { ended, after } = await longEnough(
        [2_500, 30_000, 100_000],
        async (timeoutMs) => ({
          ended: await collect(environment, script, { timeoutMs }),
          after: await collect(environment, "cat /tmp/nobody-ran && ps"),
        }),
        ({ after }) => after.exitCode === 0,
      );
      expect(ended).toMatchObject({ ended: "timed-out", survivors: [] });
      expect(after).toMatchObject({ exitCode: 0, stdout: expect.not.stringContaining("sleep 4321") });
    },
  );

  test("F64, B4: only declared variables and folders of the host reach a command, whatever the host's variables are", async () => {
    await using lab = await openLab();
    const variables = {
      ...lab.builder.variables,
      USER: "tester",
      OPENAI_API_KEY: "not this",
      APPTAINERENV_INJECTED: "not this",
      APPTAINER_BIND: `${lab.folder}:/bound`,
      GIVEN: "this",
    };
    const options = terminalOptions.parse({
      backend: "singularity",
      singularity_image: images.busybox,
      env_passthrough: ["GIVEN"],
    });
    const request: EnvironmentRequest = {
      options,
      profile: { name: "tester", root: lab.folder, home: lab.folder },
      profileId: async () => "0123456789abcdef",
      task: "default",
      variables,
      variable: (name) => (variables as Record<string, string | undefined>)[name],
      userHome: lab.folder,
      cwd: lab.folder,
      reporter: lab.reporter,
    };
    await using environment = await openEnvironment(request, AbortSignal.timeout(300_000));
    const run = await collect(environment, 'echo "$GIVEN"; env; cat /proc/1/environ; ls / /bound');
    expect(run.stdout).toMatch(/^this\n/);
    expect(run.stdout).not.toMatch(/not this|bound|OPENAI/);
  });
});
