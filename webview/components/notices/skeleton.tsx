/** Grey rows where rows will be; after a moment only, so that what comes at once does not flicker. */
import { useEffect, useState } from 'preact/hooks';

const AFTER_MS = 150;

export function Skeleton({ rows = 8 }: { readonly rows?: number }) {
  const [shown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div class="skeleton" role="status" aria-label="Loading" aria-busy="true">
      {shown && Array.from({ length: rows }, (_, index) => <div key={index} class="skeleton-row" />)}
    </div>
  );
}
