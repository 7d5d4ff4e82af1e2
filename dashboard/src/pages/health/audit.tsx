import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { AuditAnswer } from "../../../../src/api/contract/logs.ts";
import { Button } from "../../components/controls/button.tsx";
import { FailureNote, Note } from "../../components/layout/note.tsx";
import { plainText } from "../../components/text/plain-text.ts";
import { When } from "../../components/text/time.tsx";
import { useApi } from "../../data/app-data.tsx";
import { meQuery } from "../../data/queries.ts";
import { pageWords } from "../../words/page-words.ts";
import styles from "./audit.module.css";

const { audit: text } = pageWords.health;
type Line = AuditAnswer["lines"][number];

/** Who signed in, was refused, or changed what, newest first. */
export function Audit() {
  const api = useApi();
  const me = useQuery(meQuery(api)).data;
  const isAdmin = me?.signedIn === true && me.scopes.includes("admin");
  const audit = useInfiniteQuery({
    queryKey: ["audit"],
    enabled: isAdmin,
    initialPageParam: null as string | null,
    queryFn: ({ pageParam, signal }) =>
      api.get<AuditAnswer>(
        `audit${pageParam === null ? "" : `?before=${encodeURIComponent(pageParam)}`}`,
        signal,
      ),
    getNextPageParam: ({ older }) => older,
    refetchOnMount: "always",
  });
  if (!isAdmin) return <Note icon="key">{text.admin}</Note>;
  if (audit.data === undefined) {
    if (audit.error === null) return <div className="bone" aria-busy="true" />;
    return <FailureNote error={audit.error} retry={() => void audit.refetch()} busy={audit.isFetching} />;
  }
  const lines = audit.data.pages.flatMap((page) => page.lines.toReversed());
  if (lines.length === 0)
    return (
      <p className="soft">
        {text.none} {text.noneHint}
      </p>
    );
  return (
    <>
      <table className={styles.audit}>
        <thead>
          <tr>
            {Object.values(text.columns).map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {lines.map((line) => (
            <Entry key={`${line.file}@${line.end}`} line={line} />
          ))}
        </tbody>
      </table>
      {audit.hasNextPage && (
        <Button small busy={audit.isFetchingNextPage} onClick={() => void audit.fetchNextPage()}>
          {text.older}
        </Button>
      )}
    </>
  );
}

function Entry({ line }: { readonly line: Line }) {
  const fields = new Map(
    line.details.split(/ (?=\w+=)/).map((part) => part.split(/=(.*)/s) as [string, string]),
  );
  const field = (name: string): string => plainText(fields.get(name) ?? "");
  const outcome = field("outcome");
  return (
    <tr data-outcome={outcome}>
      <td>{line.at !== null && <When at={line.at} />}</td>
      <td>
        {text.actions[line.text] ?? plainText(line.text)}
        {field("detail") !== "" && <span className="faint"> {field("detail")}</span>}
      </td>
      <td>{text.outcomes[outcome] ?? outcome}</td>
      <td>{field("login")}</td>
      <td>{field("address")}</td>
    </tr>
  );
}
