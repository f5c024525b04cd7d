/** A page after somebody did something with it. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

interface OnceProps {
  /** What must be there first. */
  readonly there: string;
  readonly does: (page: HTMLElement) => void;
  /** What is there once it is done. */
  readonly then: string;
  readonly children: ComponentChildren;
}

export function ActOnce({ there, does, then, children }: OnceProps) {
  const whole = useRef<HTMLDivElement>(null);
  const [done, setDone] = useState(false);
  useEffect(() => {
    const page = whole.current;
    if (page === null) return undefined;
    let did = false;
    const look = (): void => {
      if (!did && page.querySelector(there) !== null) {
        did = true;
        does(page);
      }
      if (!did || page.querySelector(then) === null) return;
      observer.disconnect();
      setDone(true);
    };
    const observer = new MutationObserver(look);
    observer.observe(page, { subtree: true, childList: true, attributes: true });
    look();
    return () => observer.disconnect();
  }, []);
  return (
    <div ref={whole} class="story-once" aria-busy={!done}>
      {children}
    </div>
  );
}

/** Keys pressed on an element, one after the other. */
export function press(selector: string, ...keys: readonly string[]): (page: HTMLElement) => void {
  return (page) => {
    const element = page.querySelector<HTMLElement>(selector);
    element?.focus();
    for (const key of keys)
      element?.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
  };
}

/** The pointer comes to the middle of an element. */
export function pointAt(selector: string): (page: HTMLElement) => void {
  return (page) => {
    const box = page.querySelector(selector)?.getBoundingClientRect();
    if (box === undefined) return;
    const event = { bubbles: true, clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 };
    for (const type of ['pointerenter', 'pointermove'])
      page.querySelector('[role="grid"]')?.dispatchEvent(new PointerEvent(type, event));
  };
}

export function click(selector: string): (page: HTMLElement) => void {
  return (page) => {
    for (const element of page.querySelectorAll<HTMLElement>(selector)) element.click();
  };
}
