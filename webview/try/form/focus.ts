/** Element IDs of a form, and moving the focus between its controls. */
import type { Path } from './value.ts';

/** Returns the element ID of the control for an argument. */
export function idOf(path: Path): string {
  return `argument-${path.map((part) => encodeURIComponent(part)).join('/')}`;
}

/** Focuses a control, or the first one in an element, after the next render. Falls back to its Add or Set button. */
export function focusOn(id: string): void {
  requestAnimationFrame(() => {
    const element = document.getElementById(id) ?? document.getElementById(`${id}-add`);
    const control =
      element?.matches('input, textarea, select') === true
        ? element
        : element?.querySelector<HTMLElement>('input, textarea, select, vscode-button');
    control?.focus();
  });
}
