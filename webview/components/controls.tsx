/**
 * Buttons, fields, dropdowns, and checkboxes. Only this file and toolkit.ts use `@vscode/webview-ui-toolkit`, whose
 * upstream is archived, so that it can be replaced here. Its elements are defined after the first rows. Until then they
 * are plain boxes of the same size (theme/controls.css); the browser upgrades them in place.
 */
import { type ComponentChildren, h } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { afterFirstRows } from './afterFirstRows.ts';
import { Icon, type IconName } from './marks/icon.tsx';

afterFirstRows(() => void import('./toolkit.ts').then(({ defineElements }) => defineElements()));

interface ButtonProps {
  readonly kind: 'primary' | 'secondary' | 'icon';
  readonly label: string;
  readonly icon?: IconName;
  readonly title?: string;
  readonly disabled?: boolean;
  /** State of a toggle button. */
  readonly pressed?: boolean;
  readonly onClick: () => void;
}

/** Returns the properties of a button that is disabled for a reason, which its tooltip says; none without one. */
export function refusedProps(refused: string | undefined): { readonly disabled?: true; readonly title?: string } {
  return refused === undefined ? {} : { disabled: true, title: refused };
}

export function Button({ kind, label, icon, title, disabled = false, pressed, onClick }: ButtonProps) {
  return h(
    'vscode-button',
    {
      appearance: kind,
      class: `button is-${kind}${pressed === true ? ' is-pressed' : ''}`,
      title: title ?? (kind === 'icon' ? label : undefined),
      disabled,
      'aria-label': label,
      'aria-pressed': pressed,
      onClick: () => {
        if (!disabled) onClick();
      },
    },
    [icon === undefined ? null : <Icon name={icon} />, kind === 'icon' ? null : label] as ComponentChildren,
  );
}

interface TextFieldProps {
  readonly value: string;
  readonly label: string;
  readonly placeholder?: string;
  readonly icon?: IconName;
  readonly invalid?: boolean;
  readonly onInput: (value: string) => void;
  readonly onEnter?: (shift: boolean) => void;
  readonly onEscape?: () => void;
  readonly onArrowDown?: () => void;
  readonly inputRef?: { current: HTMLElement | null };
}

export function TextField({
  value,
  label,
  placeholder,
  icon,
  invalid = false,
  onInput,
  onEnter,
  onEscape,
  onArrowDown,
  inputRef,
}: TextFieldProps) {
  const own = useRef<HTMLElement>(null);
  const element = inputRef ?? own;
  // The toolkit's field overwrites its label with its content when it is connected.
  useEffect(() => {
    const name = (): void => element.current?.setAttribute('aria-label', label);
    name();
    if (element.current?.matches(':defined') === false) void customElements.whenDefined('vscode-text-field').then(name);
  }, [label]);
  return h(
    'vscode-text-field',
    {
      class: `text-field${invalid ? ' is-invalid' : ''}`,
      value,
      placeholder: placeholder ?? '',
      'aria-label': label,
      'aria-invalid': invalid,
      ref: element,
      onInput: (event: InputEvent) => onInput((event.currentTarget as HTMLInputElement).value),
      onKeyDown: (event: KeyboardEvent) => {
        if (event.key === 'Enter') onEnter?.(event.shiftKey);
        else if (event.key === 'Escape') onEscape?.();
        else if (event.key === 'ArrowDown') onArrowDown?.();
      },
    },
    icon === undefined ? null : (
      <span slot="start">
        <Icon name={icon} />
      </span>
    ),
  );
}

interface DropdownProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly { readonly value: string; readonly text: string }[];
  readonly onChange: (value: string) => void;
}

export function Dropdown({ label, value, options, onChange }: DropdownProps) {
  const element = useRef<HTMLInputElement>(null);
  const names = options.map((option) => option.value).join(' ');
  // The toolkit accepts a value only after its options exist. Before it is defined, `selected` of an option decides.
  useEffect(() => {
    if (element.current?.matches(':defined') === true && element.current.value !== value) element.current.value = value;
  }, [value, names]);
  return h(
    'vscode-dropdown',
    {
      class: 'dropdown',
      'aria-label': label,
      ref: element,
      onChange: (event: Event) => onChange((event.currentTarget as HTMLInputElement).value),
    },
    options.map((option) =>
      h('vscode-option', { key: option.value, value: option.value, selected: option.value === value }, option.text),
    ),
  );
}

export function Checkbox({
  label,
  checked,
  onChange,
}: {
  readonly label: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}) {
  return h(
    'vscode-checkbox',
    {
      class: 'checkbox',
      checked,
      onChange: (event: Event) => onChange((event.currentTarget as HTMLInputElement).checked),
    },
    label,
  );
}
