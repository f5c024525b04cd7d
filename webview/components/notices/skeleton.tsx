/** Gray placeholder rows. They appear after a moment, so that fast content does not flicker. */
import { useEffect, useState } from 'preact/hooks';

const DELAY_MS = 150;

export function Skeleton({ rows = 8 }: { readonly rows?: number }) {
  const [isVisible, setVisible] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setVisible(true), DELAY_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div class="skeleton" role="status" aria-label="Loading" aria-busy="true">
      {isVisible && Array.from({ length: rows }, (_, index) => <div key={index} class="skeleton-row" />)}
    </div>
  );
}
