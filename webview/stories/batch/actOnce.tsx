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

/** A page that has not changed for this long is ready. */
const QUIET_MS = 50;

export function ActOnce({ when, act, until, children }: OnceProps) {
  const whole = useRef<HTMLDivElement>(null);
  const [done, setDone] = useState(false);
  useEffect(() => {
    const page = whole.current;
    if (page === null) return undefined;
    let hasActed = false;
    let timer: number | undefined;
    const check = (): void => {
      if (!hasActed) {
        // What is on the page may still be replaced, and its cursor may not be set yet.
        clearTimeout(timer);
        if (page.querySelector(when) !== null) timer = window.setTimeout(actNow, QUIET_MS);
        return;
      }
      if (page.querySelector(until) === null) return;
      observer.disconnect();
      setDone(true);
    };
    const actNow = (): void => {
      hasActed = true;
      act(page);
      check();
    };
    const observer = new MutationObserver(check);
    observer.observe(page, { subtree: true, childList: true, attributes: true });
    check();
    return () => {
      observer.disconnect();
      clearTimeout(timer);
    };
  }, []);
  return (
    <div ref={whole} class="story-once" aria-busy={!done}>
      {children}
    </div>
  );
}

/** Presses keys on an element, one after the other. `Control+` may precede a key. */
export function press(selector: string, ...keys: readonly string[]): (page: HTMLElement) => void {
  return (page) => {
    const element = page.querySelector<HTMLElement>(selector);
    element?.focus();
    for (const pressed of keys) {
      const key = pressed.replace('Control+', '');
      const init = { key, ctrlKey: key !== pressed, bubbles: true, cancelable: true };
      element?.dispatchEvent(new KeyboardEvent('keydown', init));
    }
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
