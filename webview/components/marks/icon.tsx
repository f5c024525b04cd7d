/** Icons of VS Code's icon font, by name. */
import { ICONS } from './icons.ts';

export type IconName = keyof typeof ICONS;

/** `label`: for screen readers. Without it, the icon is decoration. */
export function Icon({ name, label }: { readonly name: IconName; readonly label?: string }) {
  return (
    <span class="icon" {...(label === undefined ? { 'aria-hidden': true } : { role: 'img', 'aria-label': label })}>
      {String.fromCodePoint(ICONS[name])}
    </span>
  );
}
