/**
 * What a tool printed. While it goes on printing, the newest lines stay in sight unless somebody scrolled away from
 * them.
 */
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { Ansi } from '../text/ansi.tsx';

/** Less than a line, more than what is lost by rounding. */
const SLACK_PX = 4;

interface PrintedProps {
  readonly title: string;
  readonly text: string;
  /** `end`: it begins with its last lines. `newest`: there are more to come, and they are followed. */
  readonly from?: 'end' | 'newest';
}

export function Printed({ title, text, from }: PrintedProps) {
  const box = useRef<HTMLDivElement>(null);
  const following = useRef(true);
  useEffect(() => {
    // Of the lines themselves and of the page that they are on.
    const onScroll = (): void => {
      following.current = box.current !== null && endIsInSight(box.current);
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

function endIsInSight(box: HTMLElement): boolean {
  return (
    box.scrollHeight - box.scrollTop - box.clientHeight <= SLACK_PX &&
    box.getBoundingClientRect().bottom <= window.innerHeight + SLACK_PX
  );
}
