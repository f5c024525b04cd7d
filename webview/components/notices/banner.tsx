/** A one-line message at the top of a page. */
import { Button, refusedProps } from '../controls.tsx';
import { Icon, type IconName } from '../marks/icon.tsx';

const ICONS = { info: 'info', warning: 'warning', error: 'error', held: 'debug-pause' } as const;

export interface BannerAction {
  readonly label: string;
  readonly title?: string;
  readonly icon?: IconName;
  /** Whether to show only its icon. */
  readonly bare?: boolean;
  /** The main action; at most one. */
  readonly primary?: boolean;
  /** Why it is disabled, as its tooltip. */
  readonly refused?: string | undefined;
  readonly onClick: () => void;
}

interface BannerProps {
  readonly kind: keyof typeof ICONS;
  readonly text: string;
  /** An expression to show after the text. */
  readonly code?: string;
  readonly actions?: readonly BannerAction[];
  readonly onClose?: () => void;
}

export function Banner({ kind, text, code, actions = [], onClose }: BannerProps) {
  return (
    <div class={`banner is-${kind}`} role={kind === 'error' ? 'alert' : 'status'}>
      <Icon name={ICONS[kind]} />
      <span class="banner-text">
        {text}
        {code !== undefined && (
          <>
            {' '}
            <code class="banner-code">{code}</code>
          </>
        )}
      </span>
      {actions.length > 0 && (
        <span class="banner-actions">
          {actions.map(({ bare = false, primary = false, refused, ...action }) => (
            <Button
              key={action.label}
              kind={bare ? 'icon' : primary ? 'primary' : 'secondary'}
              {...action}
              {...refusedProps(refused)}
            />
          ))}
        </span>
      )}
      {onClose !== undefined && <Button kind="icon" icon="close" label="Close" onClick={onClose} />}
    </div>
  );
}
