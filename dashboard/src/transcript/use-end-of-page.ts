import { useEffect, useLayoutEffect, useRef, useState } from "react";

interface EndOfPage {
  /** Whether there is content. */
  readonly isReady: boolean;
  /** Identifies the first item; a change means that earlier ones were added. */
  readonly first: string | undefined;
  /** Does not scroll to the end at first, because another place is to be shown. */
  readonly hold: boolean;
  /** Called near the beginning of the loaded content. */
  onTop(): void;
}

const NEAR_PX = 60;

/**
 * Keeps the window at the end of growing content, but only while it is there: after scrolling up, it stays. Content that is
 * added at the top does not move what is visible.
 */
export function useEndOfPage({ isReady, first, hold, onTop }: EndOfPage) {
  const content = useRef<HTMLDivElement>(null);
  const top = useRef<HTMLDivElement>(null);
  const follows = useRef(!hold);
  const height = useRef(0);
  const [isAtEnd, setAtEnd] = useState(true);
  const events = useRef(onTop);
  useEffect(() => {
    events.current = onTop;
  });

  useEffect(() => {
    let last = scrollY;
    const onScroll = (): void => {
      const rest = document.documentElement.scrollHeight - innerHeight - scrollY;
      // Content that grew since the scroll also moves the end away, so only the person's scrolling up counts.
      if (rest < NEAR_PX) follows.current = true;
      else if (scrollY < last) follows.current = false;
      last = scrollY;
      setAtEnd(rest < innerHeight / 2);
    };
    addEventListener("scroll", onScroll, { passive: true });
    return () => removeEventListener("scroll", onScroll);
  }, []);

  // biome-ignore lint/correctness/useExhaustiveDependencies: it runs when something was added at the beginning
  useLayoutEffect(() => {
    if (!isReady) return;
    const now = document.documentElement.scrollHeight;
    if (follows.current) scrollTo(0, now);
    else if (height.current > 0 && scrollY < NEAR_PX) scrollBy(0, now - height.current);
    height.current = now;
  }, [isReady, first]);

  useEffect(() => {
    const element = content.current;
    if (element === null || !isReady) return;
    const observer = new ResizeObserver(() => {
      const now = document.documentElement.scrollHeight;
      if (follows.current) scrollTo(0, now);
      height.current = now;
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [isReady]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: asked again after each page, because the beginning may still be in view
  useEffect(() => {
    const element = top.current;
    if (element === null || !isReady) return;
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && events.current(), {
      rootMargin: "600px 0px 0px",
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [isReady, first]);

  const toEnd = (): void => {
    follows.current = true;
    scrollTo({ top: document.documentElement.scrollHeight });
  };
  return { content, top, isAtEnd, toEnd };
}
