import type { OverviewAnswer } from "../../../../src/api/contract/overview.ts";
import { emptyText, Section } from "../../components/layout/section.tsx";
import { dayOf, money } from "../../words/format.ts";
import { words } from "../../words/words.ts";
import styles from "./spending.module.css";

type SpendingProps = OverviewAnswer["spending"] & { readonly cap: number | null };

const TOP = 14;
const BASE = 88;
/** The smallest bar of a day with any cost. */
const LEAST = 2;

/** The cost of the last days as bars; the last bar is today. */
export function Spending({ days, cacheShare, cap }: SpendingProps) {
  const w = words.overview.spending;
  const today = days.at(-1);
  const cost = today?.costUsd ?? 0;
  const most = Math.max(cap ?? 0, ...days.map(({ costUsd }) => costUsd));
  const unpriced = days.reduce((sum, day) => sum + day.unpriced, 0);
  const height = (usd: number): number => (usd === 0 ? 0 : Math.max(LEAST, (usd / most) * (BASE - TOP)));
  const step = 100 / Math.max(1, days.length);
  if (days.every(({ costUsd }) => costUsd === 0) && cap === null) {
    return (
      <Section title={w.title} fact={w.days(days.length)}>
        <p className={emptyText}>{w.none}</p>
      </Section>
    );
  }
  return (
    <Section title={w.title} fact={w.days(days.length)}>
      <div className={styles.plot}>
        <div className={styles.sum}>
          <span className={styles.big}>{money(cost)}</span>
          {w.today}
          {cacheShare !== null && <span className={styles.cache}>{w.cache(cacheShare)}</span>}
        </div>
        <svg role="img" aria-label={w.label(days.length, cost, cap)} className={styles.bars}>
          {cap !== null && most > 0 && (
            <>
              <line x1="0" x2="100%" y1={BASE - height(cap)} y2={BASE - height(cap)} className={styles.cap} />
              <text x="100%" y={BASE - height(cap) - 4} textAnchor="end" className={styles.axis}>
                {w.cap(cap)}
              </text>
            </>
          )}
          {days.map(({ day, costUsd }, index) => (
            <rect
              key={day}
              x={`${index * step + step * 0.19}%`}
              width={`${step * 0.62}%`}
              y={BASE - height(costUsd)}
              height={height(costUsd)}
              rx="2"
              className={index === days.length - 1 ? styles.today : styles.day}
            >
              <title>{`${dayOf(noon(day))}: ${money(costUsd)}`}</title>
            </rect>
          ))}
          <line x1="0" x2="100%" y1={BASE + 0.5} y2={BASE + 0.5} className={styles.ground} />
          {days.map(({ day }, index) => {
            const back = days.length - 1 - index;
            if (back % 3 !== 0 || (back !== 0 && index < 1)) return null;
            return (
              <text
                key={day}
                x={back === 0 ? "100%" : `${(index + 0.5) * step}%`}
                y={BASE + 14}
                textAnchor={back === 0 ? "end" : "middle"}
                className={styles.axis}
              >
                {back === 0 ? w.today : dayOf(noon(day))}
              </text>
            );
          })}
        </svg>
        {unpriced > 0 && <p className={styles.unpriced}>{w.unpriced(unpriced)}</p>}
      </div>
    </Section>
  );
}

/** Noon of a local day `2026-11-19`, which no time zone moves to another day. */
const noon = (day: string): number => new Date(`${day}T12:00:00`).getTime();
