import { useEffect, useRef, useState } from "react";
import type { BoardAnswer, Status } from "../../../../../src/api/contract/boards.ts";
import { Button } from "../../../components/controls/button.tsx";
import { Icon, type IconName } from "../../../components/controls/icon.tsx";
import { Picker } from "../../../components/controls/picker.tsx";
import type { BoardStore } from "../../../data/board-store.ts";
import { useKeys } from "../../../shell/keys/keys.tsx";
import { joined, number } from "../../../words/format.ts";
import { words } from "../../../words/words.ts";
import { useSummary } from "../board-context.tsx";
import {
  assigneesOf,
  type BoardSearch,
  type BoardView,
  hasFilter,
  ORDERS,
  UNASSIGNED,
  VIEWS,
} from "../model/board-search.ts";
import styles from "./bars.module.css";

const { board: text } = words;

/** The pause in typing after which the server is asked. */
const TYPED_MS = 150;

interface FiltersProps {
  readonly search: BoardSearch;
  readonly board: BoardAnswer | undefined;
  onSearch(change: { readonly [Key in keyof BoardSearch]?: BoardSearch[Key] | undefined }): void;
}

/** The filters. They are part of the address, so that a link leads to the filtered board. */
export function Filters({ search, board, onSearch }: FiltersProps) {
  const field = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useState(search.q ?? "");
  const sent = useRef(search.q ?? "");
  useEffect(() => {
    if ((search.q ?? "") === sent.current) return;
    sent.current = search.q ?? "";
    setTyped(sent.current);
  }, [search.q]);
  useEffect(() => {
    if (typed.trim() === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = typed.trim();
      onSearch({ q: sent.current === "" ? undefined : sent.current });
    }, TYPED_MS);
    return () => clearTimeout(timer);
  }, [typed, onSearch]);
  useKeys({
    "/": () => field.current?.focus(),
  });

  const chosen = assigneesOf(search);
  const nameOf = (name: string): string => (name === UNASSIGNED ? text.nobody : name);
  const options = [...(board?.assignees ?? []).map(({ name }) => name), UNASSIGNED].map((name) => ({
    value: name,
    label: nameOf(name),
  }));
  const tenants = (board?.tenants ?? []).map((tenant) => ({ value: tenant, label: tenant }));
  const view = search.view ?? "board";
  return (
    <div className={styles.filters} role="toolbar" aria-label={text.filters}>
      <label className={styles.find}>
        <Icon name="filter" />
        <span className="unseen">{text.filterLabel}</span>
        <input
          ref={field}
          type="search"
          value={typed}
          placeholder={text.filter}
          onChange={(event) => setTyped(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== "Escape") return;
            if (typed === "") event.currentTarget.blur();
            else setTyped("");
          }}
        />
        <span aria-hidden="true">
          <kbd>/</kbd>
        </span>
      </label>
      <Picker
        several
        label={text.assigneeFilter}
        text={chosen.length === 0 ? text.anyone : joined(chosen.map(nameOf))}
        options={options}
        chosen={chosen}
        marked={chosen.length > 0}
        placeholder={text.assigneeFilter}
        none={words.shell.palette.none}
        onChoose={(names) => onSearch({ assignee: names.length === 0 ? undefined : names.join(",") })}
      />
      {(tenants.length > 0 || search.tenant !== undefined) && (
        <Picker
          label={text.tenantFilter}
          text={search.tenant ?? text.anyTenant}
          options={tenants}
          chosen={search.tenant === undefined ? [] : [search.tenant]}
          marked={search.tenant !== undefined}
          placeholder={text.tenantFilter}
          none={words.shell.palette.none}
          onChoose={([tenant]) => onSearch({ tenant })}
        />
      )}
      <Picker
        label={text.order}
        text={text.orders[search.sort ?? "board"]}
        options={ORDERS.map((order) => ({ value: order, label: text.orders[order] }))}
        chosen={[search.sort ?? "board"]}
        marked={search.sort !== undefined}
        placeholder={text.order}
        none={words.shell.palette.none}
        onChoose={([order]) =>
          onSearch({ sort: order === "board" ? undefined : (order as BoardSearch["sort"]) })
        }
      />
      <Button
        kind="plain"
        small
        className={styles.chip}
        aria-pressed={search.archived === true}
        onClick={() => onSearch({ archived: search.archived === true ? undefined : true })}
      >
        {text.archived}
      </Button>
      {hasFilter(search) && (
        <Button
          kind="quiet"
          small
          icon="close"
          onClick={() => onSearch({ q: undefined, assignee: undefined, tenant: undefined })}
        >
          {text.clearFilters}
        </Button>
      )}
      <Views view={view} onView={(next) => onSearch({ view: next === "board" ? undefined : next })} />
    </div>
  );
}

const VIEW_ICONS: Readonly<Record<BoardView, IconName>> = { board: "board", list: "list", graph: "graph" };

function Views({ view, onView }: { readonly view: BoardView; onView(view: BoardView): void }) {
  return (
    <fieldset className={styles.views}>
      <legend className="unseen">{text.views.label}</legend>
      {VIEWS.map((name) => (
        <button key={name} type="button" aria-pressed={name === view} onClick={() => onView(name)}>
          <Icon name={VIEW_ICONS[name]} />
          {text.views[name]}
        </button>
      ))}
    </fieldset>
  );
}

/** A chip per column with its count, for a phone, which shows only one column at a time. */
export function StatusChips({
  store,
  statuses,
  chosen,
  onChoose,
}: {
  readonly store: BoardStore;
  readonly statuses: readonly Status[];
  readonly chosen: Status;
  onChoose(status: Status): void;
}) {
  const { counts } = useSummary(store);
  const row = useRef<HTMLElement>(null);
  useEffect(() => {
    const chip = row.current?.querySelector<HTMLElement>(`[data-chip="${chosen}"]`);
    if (chip) row.current?.scrollTo({ left: chip.offsetLeft - 80 });
  }, [chosen]);
  return (
    <nav ref={row} className={styles.chips} aria-label={text.statusChips}>
      {statuses.map((status) => (
        <button
          key={status}
          type="button"
          data-chip={status}
          aria-pressed={status === chosen}
          onClick={() => onChoose(status)}
        >
          {text.status[status]} {number(counts[status] ?? 0)}
        </button>
      ))}
    </nav>
  );
}
