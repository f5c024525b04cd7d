/** A button that opens a menu. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../controls.tsx';
import { Icon, type IconName } from '../marks/icon.tsx';

export interface MenuEntry {
  readonly label: string;
  readonly keys?: string;
  /** Whether this choice is selected. Absent: not a choice. */
  readonly checked?: boolean;
  /** One of several that can be selected together: the menu stays open. */
  readonly several?: boolean;
  /** Why it cannot be chosen now, as its tooltip. */
  readonly refused?: string | undefined;
  readonly onClick: () => void;
}

interface MenuButtonProps {
  readonly label: string;
  readonly icon: IconName;
  readonly title?: string;
  readonly entries: readonly MenuEntry[];
  /** Whether the button shows its label. */
  readonly labeled?: boolean;
  /** Set to a function that opens the menu, for a key binding. */
  readonly control?: { current: (() => void) | null };
}

export function MenuButton({ label, icon, title, entries, labeled = false, control }: MenuButtonProps) {
  const [open, setOpen] = useState(false);
  const whole = useRef<HTMLSpanElement>(null);
  if (control !== undefined) control.current = () => setOpen(true);
  const items = (): HTMLElement[] => [...(whole.current?.querySelectorAll<HTMLElement>('[role^="menuitem"]') ?? [])];
  // Before the menu is painted, so that a key pressed as soon as it shows reaches it.
  useLayoutEffect(() => {
    if (!open) return;
    (items().find((item) => item.ariaChecked === 'true') ?? items()[0])?.focus();
    const outside = (event: PointerEvent): void => {
      if (event.target instanceof Node && whole.current?.contains(event.target) !== true) setOpen(false);
    };
    window.addEventListener('pointerdown', outside);
    return () => window.removeEventListener('pointerdown', outside);
  }, [open]);
  const close = (): void => {
    setOpen(false);
    whole.current?.querySelector<HTMLElement>('vscode-button')?.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const all = items();
    const at = all.indexOf(document.activeElement as HTMLElement);
    const byLetter =
      event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey
        ? letterAfter(all, at, event.key)
        : undefined;
    const to = byLetter ?? { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (event.key === 'Escape') close();
    else if (to !== undefined) all[(to + all.length) % all.length]?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <span class="menu-button" ref={whole}>
      <Button
        kind={labeled ? 'secondary' : 'icon'}
        icon={icon}
        label={label}
        {...(title === undefined ? {} : { title })}
        pressed={open}
        onClick={() => setOpen(!open)}
      />
      {open && (
        <div class="menu" role="menu" aria-label={label} onKeyDown={onKeyDown}>
          {entries.map((entry) => (
            <button
              key={entry.label}
              type="button"
              tabIndex={-1}
              {...(entry.checked === undefined
                ? { role: 'menuitem' }
                : {
                    role: entry.several === true ? 'menuitemcheckbox' : 'menuitemradio',
                    'aria-checked': entry.checked,
                  })}
              {...(entry.refused === undefined ? {} : { 'aria-disabled': true, title: entry.refused })}
              onClick={() => {
                if (entry.refused !== undefined) return;
                if (entry.several !== true) close();
                entry.onClick();
              }}
            >
              <span>{entry.label}</span>
              {entry.checked === true && <Icon name="check" />}
              {entry.keys !== undefined && <kbd>{entry.keys}</kbd>}
            </button>
          ))}
        </div>
      )}
    </span>
  );
}

/** Returns the index of the next item after `at` that starts with a letter. */
function letterAfter(items: readonly HTMLElement[], at: number, letter: string): number | undefined {
  const order = items.map((_, index) => (at + 1 + index) % items.length);
  return order.find((index) => items[index]?.textContent.toLowerCase().startsWith(letter.toLowerCase()) === true);
}
