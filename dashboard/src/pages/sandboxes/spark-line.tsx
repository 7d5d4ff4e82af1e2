import type { LoadPoint } from "../../data/sandbox-load.ts";
import { words } from "../../words/words.ts";
import styles from "./spark-line.module.css";

const SPAN_MS = 10 * 60_000;
const WIDTH = 240;
const HEIGHT = 44;

interface SparkLineProps {
  readonly name: string;
  /** The value now, in words. */
  readonly value: string;
  readonly points: readonly LoadPoint[];
  /** The limit of the value; without one, the line is scaled to its largest value. */
  readonly limit: number | null;
  readonly now: number;
  read(point: LoadPoint): number;
}

/** One value of the last ten minutes as a line. */
export function SparkLine({ name, value, points, limit, now, read }: SparkLineProps) {
  const highest = limit ?? Math.max(1e-9, ...points.map(read)) * 1.15;
  const at = (point: LoadPoint): string => {
    const x = WIDTH * (1 - Math.min(SPAN_MS, now - point.takenAt) / SPAN_MS);
    const y = HEIGHT - 1 - (HEIGHT - 2) * Math.min(1, read(point) / highest);
    return `${x.toFixed(1)},${y.toFixed(1)}`;
  };
  return (
    <figure className={styles.figure}>
      <figcaption>
        <span>{name}</span>
        <b>{value}</b>
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={words.sandboxes.load.chart(name, value)}
      >
        <polyline points={points.map(at).join(" ")} />
      </svg>
    </figure>
  );
}
