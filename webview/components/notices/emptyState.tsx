/** Replaces empty content: explains why it is empty, and what to do. */
import { Button } from '../controls.tsx';
import { Icon, type IconName } from '../marks/icon.tsx';

interface EmptyAction {
  readonly label: string;
  readonly onClick: () => void;
}

export function EmptyState({
  icon,
  title,
  text,
  actions = [],
}: {
  readonly icon: IconName;
  readonly title: string;
  readonly text: string;
  readonly actions?: readonly EmptyAction[];
}) {
  return (
    <div class="empty-state" role="status">
      <Icon name={icon} />
      <h2>{title}</h2>
      <p>{text}</p>
      {actions.length > 0 && (
        <div class="empty-actions">
          {actions.map(({ label, onClick }, index) => (
            <Button key={label} kind={index === 0 ? 'primary' : 'secondary'} label={label} onClick={onClick} />
          ))}
        </div>
      )}
    </div>
  );
}
