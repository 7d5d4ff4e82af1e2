import { expect, test } from "vitest";
import { CLAIM, openPostgresLab, openStage } from "../../test/support/board-lab.ts";
import { keepPostgresLabs } from "../../test/support/postgres-labs.ts";
import { describeWith } from "../../test/support/services.ts";
import { boardStoreContract } from "./contracts/board-store.contract.ts";
import { profileNamesContract } from "./contracts/profile-names.contract.ts";

describeWith("postgres", "a board in PostgreSQL", ({ url }) => {
  const openLab = keepPostgresLabs(url);
  boardStoreContract(openLab);
  profileNamesContract(openLab);
});

describeWith("postgres", "claims of the last places of a board in PostgreSQL", ({ url }) => {
  const never = new AbortController().signal;

  test("whoever wants any task goes away while another one changes the counter, and has written nothing", async () => {
    await using stage = await openStage(() => openPostgresLab(url));
    await stage.add("a");
    const claim = () => stage.system.claimIds({ ...CLAIM, wanted: 1, caps: { board: 1 } }, never);
    await stage.lab.raw("begin");
    await stage.lab.raw("select value from counter where name = 'running' for update");
    expect((await claim()).claimed).toEqual([]);
    await stage.lab.raw("commit");
    expect((await claim()).claimed).toHaveLength(1);
    expect((await claim()).claimed).toEqual([]);
    expect(await stage.store.check(never)).toEqual([]);
  });
});
