/** Returns the width of the page, for layouts that CSS alone cannot choose. */
import { useLayoutEffect, useState } from 'preact/hooks';

export function usePageWidth(): number {
  const [width, setWidth] = useState(() => window.innerWidth);
  useLayoutEffect(() => {
    const onResize = (): void => setWidth(window.innerWidth);
    window.addEventListener('resize', onResize);
    return () => window.removeEventListener('resize', onResize);
  }, []);
  return width;
}
