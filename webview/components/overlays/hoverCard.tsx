/** A card below and right of an element, or above it if there is no room below. It never leaves the window. */
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

const GAP = 8;

interface Place {
  readonly left: number;
  /** One of both: what the card shows may load while it is visible, and it grows away from the element. */
  readonly top?: number;
  readonly bottom?: number;
}

export function HoverCard({ anchor, children }: { readonly anchor: DOMRect; readonly children: ComponentChildren }) {
  const card = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useState<Place>({ left: anchor.right + GAP, top: anchor.bottom + GAP });
  useLayoutEffect(() => {
    const element = card.current;
    if (element === null) return undefined;
    const move = (): void => {
      const { width, height } = element.getBoundingClientRect();
      const left = Math.max(GAP, Math.min(anchor.right + GAP, window.innerWidth - width - GAP));
      const [above, below] = [anchor.top - 2 * GAP, window.innerHeight - anchor.bottom - 2 * GAP];
      if (height <= below) setPlace({ left, top: anchor.bottom + GAP });
      else if (height <= above) setPlace({ left, bottom: window.innerHeight - anchor.top + GAP });
      else if (below >= above) setPlace({ left, bottom: GAP });
      else setPlace({ left, top: GAP });
    };
    move();
    const observer = new ResizeObserver(move);
    observer.observe(element);
    return () => observer.disconnect();
  }, [anchor]);
  const { left, top, bottom } = place;
  return (
    <div
      class="hover-card"
      role="tooltip"
      ref={card}
      style={{
        left: `${left}px`,
        top: top === undefined ? 'auto' : `${top}px`,
        bottom: bottom === undefined ? 'auto' : `${bottom}px`,
      }}
    >
      {children}
    </div>
  );
}
