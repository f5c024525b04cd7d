/** Acts on a page once it is ready, and is busy until the result appears. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

interface OnceProps {
  /** Selector of an element to wait for before acting. */
  readonly when: string;
  readonly act: (page: HTMLElement) => void;
  /** Selector of an element that appears as the result. */
  readonly until: string;
  readonly children: ComponentChildren;
}

export function ActOnce({ when, act, until, children }: OnceProps) {
  const whole = useRef<HTMLDivElement>(null);
  const [done, setDone] = useState(false);
  useEffect(() => {
    const page = whole.current;
    if (page === null) return undefined;
    let hasActed = false;
    const check = (): void => {
      if (!hasActed && page.querySelector(when) !== null) {
        hasActed = true;
        act(page);
      }
      if (!hasActed || page.querySelector(until) === null) return;
      observer.disconnect();
      setDone(true);
    };
    const observer = new MutationObserver(check);
    observer.observe(page, { subtree: true, childList: true, attributes: true });
    check();
    return () => observer.disconnect();
  }, []);
  return (
    <div ref={whole} class="story-once" aria-busy={!done}>
      {children}
    </div>
  );
}

/** Presses keys on an element, one after the other. */
export function press(selector: string, ...keys: readonly string[]): (page: HTMLElement) => void {
  return (page) => {
    const element = page.querySelector<HTMLElement>(selector);
    element?.focus();
    for (const key of keys)
      element?.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
  };
}

/** Moves the pointer to the center of an element. */
export function pointAt(selector: string): (page: HTMLElement) => void {
  return (page) => {
    const box = page.querySelector(selector)?.getBoundingClientRect();
    if (box === undefined) return;
    const event = { bubbles: true, clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 };
    for (const type of ['pointerenter', 'pointermove'])
      page.querySelector('[role="grid"]')?.dispatchEvent(new PointerEvent(type, event));
  };
}

/** Clicks all elements that match, with a modifier if there is one. */
export function click(selector: string, modifier: { readonly ctrlKey?: boolean } = {}): (page: HTMLElement) => void {
  return (page) => {
    for (const element of page.querySelectorAll<HTMLElement>(selector))
      element.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, ...modifier }));
  };
}
