import { type RefObject, useEffect, useId, useRef } from "react";

interface PopoverEvents {
  /** Called just before the popover is shown. */
  readonly onOpen?: (() => void) | undefined;
  /** The element that is focused as the popover opens, so that no key pressed right after is lost. */
  focusOn(panel: HTMLElement): HTMLElement | null;
  readonly onClose?: (() => void) | undefined;
}

/** A popover beside the element that opens it. Escape and a click elsewhere close it, and Escape returns the focus. */
export function usePopover<Anchor extends HTMLElement>({ onOpen, focusOn, onClose }: PopoverEvents) {
  const anchor = useRef<Anchor>(null);
  const panel = useRef<HTMLDivElement>(null);
  const id = useId();
  const events = useRef<PopoverEvents>({ onOpen, focusOn, onClose });
  useEffect(() => {
    events.current = { onOpen, focusOn, onClose };
  });
  useEffect(() => {
    const element = panel.current;
    if (element === null) return;
    const listening = new AbortController();
    const place = (): void => placeBeside(anchor, element);
    element.addEventListener(
      "beforetoggle",
      (event) => {
        if ((event as ToggleEvent).newState !== "open") return;
        events.current.onOpen?.();
        for (const earlier of element.querySelectorAll<HTMLElement>("[autofocus]")) earlier.autofocus = false;
        const first = events.current.focusOn(element);
        if (first !== null) first.autofocus = true;
      },
      { signal: listening.signal },
    );
    element.addEventListener(
      "toggle",
      (event) => {
        const isOpen = (event as ToggleEvent).newState === "open";
        anchor.current?.setAttribute("aria-expanded", String(isOpen));
        if (isOpen) {
          place();
          addEventListener("resize", place, { signal: listening.signal });
        } else {
          removeEventListener("resize", place);
          events.current.onClose?.();
        }
      },
      { signal: listening.signal },
    );
    return () => listening.abort();
  }, []);
  return {
    anchor,
    panel,
    id,
    open: () => panel.current?.showPopover(),
    close: () => {
      if (panel.current?.matches(":popover-open")) panel.current.hidePopover();
    },
  };
}

const MARGIN = 8;

/** Places the popover below the anchor, or above if there is more room, and always inside the window. */
function placeBeside(anchor: RefObject<HTMLElement | null>, panel: HTMLElement): void {
  const from = anchor.current?.getBoundingClientRect();
  if (from === undefined) return;
  const { innerWidth, innerHeight } = window;
  const below = innerHeight - from.bottom - MARGIN;
  const above = from.top - MARGIN;
  panel.style.minWidth = `${Math.round(from.width)}px`;
  panel.style.maxHeight = `${Math.max(below, above) - 4}px`;
  const { width, height } = panel.getBoundingClientRect();
  const isAbove = height > below && above > below;
  panel.style.top = `${isAbove ? Math.max(MARGIN, from.top - height - 4) : from.bottom + 4}px`;
  panel.style.left = `${Math.max(MARGIN, Math.min(from.left, innerWidth - width - MARGIN))}px`;
}
