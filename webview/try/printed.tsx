/** Output of a tool. While the tool runs, the view follows the newest lines unless the user has scrolled away. */
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { Ansi } from '../text/ansi.tsx';

/** Less than a line, more than rounding errors. */
const SLACK_PX = 4;

interface PrintedProps {
  readonly title: string;
  readonly text: string;
  /** `end`: scrolls to the last lines. `newest`: also follows new lines. */
  readonly from?: 'end' | 'newest';
}

export function Printed({ title, text, from }: PrintedProps) {
  const box = useRef<HTMLDivElement>(null);
  const following = useRef(true);
  useEffect(() => {
    // Either the lines or the whole page may have been scrolled.
    const onScroll = (): void => {
      following.current = box.current !== null && isEndVisible(box.current);
    };
    window.addEventListener('scroll', onScroll, { capture: true, passive: true });
    return () => window.removeEventListener('scroll', onScroll, { capture: true });
  }, []);
  useLayoutEffect(() => {
    if (box.current === null || from === undefined || !following.current) return;
    box.current.scrollTop = box.current.scrollHeight;
    if (from === 'newest') box.current.scrollIntoView({ block: 'nearest' });
  }, [text]);
  return (
    <section class="value" aria-label={title}>
      <header class="section-head">
        <h3>{title}</h3>
      </header>
      <div class="try-printed" ref={box}>
        <Ansi text={text.trimEnd()} />
      </div>
    </section>
  );
}

function isEndVisible(box: HTMLElement): boolean {
  return (
    box.scrollHeight - box.scrollTop - box.clientHeight <= SLACK_PX &&
    box.getBoundingClientRect().bottom <= window.innerHeight + SLACK_PX
  );
}
