/** Lists all keyboard shortcuts of a page. */
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Button } from '../controls.tsx';

export interface KeyGroup {
  readonly title: string;
  readonly keys: readonly { readonly keys: string; readonly does: string }[];
}

export function KeysOverlay({
  groups,
  onClose,
}: {
  readonly groups: readonly KeyGroup[];
  readonly onClose: () => void;
}) {
  const dialog = useRef<HTMLDivElement>(null);
  // Before it is painted, so that a key pressed as soon as it shows reaches it.
  useLayoutEffect(() => {
    const before = document.activeElement;
    dialog.current?.focus();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <div class="overlay" onClick={onClose}>
      <div
        class="keys-overlay"
        role="dialog"
        aria-modal="true"
        aria-label="Keyboard Shortcuts"
        tabIndex={-1}
        ref={dialog}
        onClick={(event) => event.stopPropagation()}
        onKeyDown={(event) => {
          if (event.key !== 'Escape' && event.key !== '?') return;
          event.preventDefault();
          onClose();
        }}
      >
        <header>
          <h2>Keyboard Shortcuts</h2>
          <span class="grow" />
          <Button kind="icon" icon="close" label="Close" onClick={onClose} />
        </header>
        <div class="keys-groups">
          {groups.map((group) => (
            <section key={group.title}>
              <h3>{group.title}</h3>
              <dl>
                {group.keys.map(({ keys, does }) => (
                  <div key={keys}>
                    <dt>
                      {keys.split(' / ').map((key) => (
                        <kbd key={key}>{key}</kbd>
                      ))}
                    </dt>
                    <dd>{does}</dd>
                  </div>
                ))}
              </dl>
            </section>
          ))}
        </div>
      </div>
    </div>
  );
}
