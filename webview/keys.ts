/** Single-letter keyboard shortcuts of a page. Text fields, menus, and shortcuts of the host have priority. */
import { useLayoutEffect, useRef } from 'preact/hooks';

export type Bindings = Readonly<Record<string, () => void>>;

/**
 * Handles keys while the component is mounted. Names are `KeyboardEvent.key` in lower case for letters, prefixed by
 * `mod+` (Ctrl, on a Mac Cmd), `alt+`, and `shift+` (for letters and named keys): `j`, `shift+e`, `[`, `?`, `Home`,
 * `mod+f`, `alt+ArrowLeft`.
 */
export function useKeys(bindings: Bindings, enabled = true): void {
  const current = useRef(bindings);
  current.current = bindings;
  // Before what the keys are for is painted.
  useLayoutEffect(() => {
    if (!enabled) return;
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.isComposing || takesText(event.target)) return;
      const run = current.current[nameOf(event)];
      if (run === undefined) return;
      event.preventDefault();
      run();
    };
    window.addEventListener('keydown', onKeyDown);
    return () => window.removeEventListener('keydown', onKeyDown);
  }, [enabled]);
}

/** Returns the name of the pressed keys. */
export function nameOf(event: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey' | 'shiftKey'>): string {
  const letter = event.key.length === 1;
  const key = letter ? event.key.toLowerCase() : event.key;
  // For other characters, such as `?`, the character already implies Shift.
  const shift = event.shiftKey && (!letter || key !== key.toUpperCase());
  return `${event.ctrlKey || event.metaKey ? 'mod+' : ''}${event.altKey ? 'alt+' : ''}${shift ? 'shift+' : ''}${key}`;
}

function takesText(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable ||
      /^(INPUT|TEXTAREA|SELECT|VSCODE-TEXT-FIELD|VSCODE-DROPDOWN)$/.test(target.tagName) ||
      target.closest('[role="menu"], [role="dialog"]') !== null)
  );
}
