/** Width of the page, for layouts that CSS alone cannot choose. */
import { useLayoutEffect, useState } from 'preact/hooks';

export function usePageWidth(): number {
  const [width, setWidth] = useState(() => window.innerWidth);
  useLayoutEffect(() => {
    const resized = (): void => setWidth(window.innerWidth);
    window.addEventListener('resize', resized);
    return () => window.removeEventListener('resize', resized);
  }, []);
  return width;
}
