/** A choice between a few views: buttons side by side. Where a page is narrow, those with an icon show only that. */
import { Icon, type IconName } from './marks/icon.tsx';
import './switch.css';

interface SwitchOption<T extends string> {
  readonly value: T;
  readonly text: string;
  readonly title: string;
  readonly icon?: IconName;
}

interface SwitchProps<T extends string> {
  /** Accessible name. */
  readonly label: string;
  readonly options: readonly SwitchOption<T>[];
  readonly value: T;
  readonly onChange: (value: T) => void;
}

export function Switch<T extends string>({ label, options, value: chosen, onChange }: SwitchProps<T>) {
  return (
    <div class="switch" role="group" aria-label={label}>
      {options.map(({ value, text, title, icon }) => (
        <button key={value} type="button" aria-pressed={value === chosen} title={title} onClick={() => onChange(value)}>
          {icon !== undefined && <Icon name={icon} />}
          <span>{text}</span>
        </button>
      ))}
    </div>
  );
}
