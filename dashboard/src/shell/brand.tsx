/** The logo of Hermes: a staff with two wings. */
export function Brand({ className }: { readonly className?: string | undefined }) {
  return (
    <svg
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.9"
      strokeLinecap="round"
      aria-hidden="true"
      className={className}
    >
      <path d="M12 3v18" />
      <path d="M12 7c-2.6-3.4-6.2-3.6-9-2.4 1.9.5 3 1.4 3.8 2.9C8.2 9.2 10 9.3 12 9" />
      <path d="M12 7c2.6-3.4 6.2-3.6 9-2.4-1.9.5-3 1.4-3.8 2.9C15.8 9.2 14 9.3 12 9" />
      <path d="M9 13.5c4 .6 5.5 2 3 3.5s-1.5 2.6 2 3" />
    </svg>
  );
}
