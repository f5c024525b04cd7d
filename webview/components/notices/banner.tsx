/** One line above a page about something that concerns all of it. */
import { Button } from '../controls.tsx';
import { Icon } from '../marks/icon.tsx';

const ICONS = { info: 'info', warning: 'warning', error: 'error', held: 'debug-pause' } as const;

export interface BannerProps {
  readonly kind: keyof typeof ICONS;
  readonly text: string;
  readonly actions?: readonly { readonly label: string; readonly onClick: () => void }[];
  readonly onClose?: () => void;
}

export function Banner({ kind, text, actions = [], onClose }: BannerProps) {
  return (
    <div class={`banner is-${kind}`} role={kind === 'error' ? 'alert' : 'status'}>
      <Icon name={ICONS[kind]} />
      <span class="banner-text">{text}</span>
      {actions.map(({ label, onClick }) => <Button key={label} kind="secondary" label={label} onClick={onClick} />)}
      {onClose !== undefined && <Button kind="icon" icon="close" label="Close" onClick={onClose} />}
    </div>
  );
}
