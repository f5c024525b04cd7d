/** A card next to the hovered element. It neither covers the element nor leaves the window. */
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

const GAP = 8;

export function HoverCard({ anchor, children }: { readonly anchor: DOMRect; readonly children: ComponentChildren }) {
  const card = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useState({ left: anchor.right + GAP, top: anchor.bottom + GAP });
  useLayoutEffect(() => {
    const { width = 0, height = 0 } = card.current?.getBoundingClientRect() ?? {};
    const left =
      anchor.right + GAP + width > window.innerWidth ? Math.max(GAP, anchor.left - GAP - width) : anchor.right + GAP;
    const top = Math.max(GAP, Math.min(anchor.bottom + GAP, window.innerHeight - height - GAP));
    setPlace({ left, top });
  }, [anchor]);
  return (
    <div class="hover-card" role="tooltip" ref={card} style={{ left: `${place.left}px`, top: `${place.top}px` }}>
      {children}
    </div>
  );
}
