import styles from "./meter.module.css";

/** A share between 0 and 1 as a small bar. Its label says the value too. */
export function Meter({ label, share }: { readonly label: string; readonly share: number }) {
  const width = `${Math.round(Math.min(1, Math.max(0, share)) * 100)}%`;
  return (
    <span role="img" aria-label={label} title={label} className={styles.meter}>
      <span className={share > 0.9 ? styles.full : undefined} style={{ width }} />
    </span>
  );
}
