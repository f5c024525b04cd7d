/** A choice in the filter bar. */
import { Dropdown } from '../../components/controls.tsx';
import type { IconName } from '../../components/marks/icon.tsx';
import { MenuButton } from '../../components/overlays/menu.tsx';

interface ChoiceProps<T extends string> {
  readonly name: string;
  readonly icon: IconName;
  readonly narrow: boolean;
  readonly value: T;
  readonly options: readonly { readonly value: T; readonly text: string }[];
  readonly onChange: (value: T) => void;
}

/** On a narrow page a button with a menu. */
export function Choice<T extends string>({ name, icon, narrow, value, options, onChange }: ChoiceProps<T>) {
  const choose = (chosen: string): void => {
    const option = options.find((each) => each.value === chosen);
    if (option !== undefined) onChange(option.value);
  };
  const text = options.find((option) => option.value === value)?.text ?? value;
  if (narrow)
    return (
      <MenuButton
        label={`${name}: ${text}`}
        icon={icon}
        entries={options.map((option) => ({
          label: option.text,
          checked: option.value === value,
          onClick: () => onChange(option.value),
        }))}
      />
    );
  return (
    <span class="batch-choice">
      <span aria-hidden="true">{name}</span>
      <Dropdown label={name} value={value} options={options} onChange={choose} />
    </span>
  );
}
