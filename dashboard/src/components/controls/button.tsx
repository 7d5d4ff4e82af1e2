import type { ButtonHTMLAttributes, ReactNode, Ref } from "react";
import styles from "./button.module.css";
import { Icon, type IconName } from "./icon.tsx";

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  /** `main` is for the primary action of a dialog, a form or a row. */
  readonly kind?: "main" | "plain" | "quiet" | "danger";
  readonly small?: boolean;
  readonly icon?: IconName;
  /** A request is pending: label and width stay, and further presses do nothing. */
  readonly busy?: boolean;
  /** A button without text needs `aria-label`, which is also its tooltip. */
  readonly children?: ReactNode;
  readonly ref?: Ref<HTMLButtonElement>;
}

export function Button({
  kind = "plain",
  small = false,
  icon,
  busy = false,
  children,
  onClick,
  className = "",
  ...rest
}: ButtonProps) {
  const isBare = children === undefined;
  const names = [styles.button, styles[kind], small && styles.small, isBare && styles.bare, className];
  return (
    <button
      type="button"
      {...rest}
      className={names.filter(Boolean).join(" ")}
      aria-busy={busy || undefined}
      title={isBare ? (rest.title ?? rest["aria-label"]) : rest.title}
      onClick={(event) => {
        if (busy) event.preventDefault();
        else onClick?.(event);
      }}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}
