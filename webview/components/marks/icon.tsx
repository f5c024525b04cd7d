/** Icons of VS Code's own font, by name. */
import { ICONS } from './icons.ts';

export type IconName = keyof typeof ICONS;

/** `label`: said to screen readers; without one it is decoration beside words. */
export function Icon({ name, label }: { readonly name: IconName; readonly label?: string }) {
  return (
    <span class="icon" {...(label === undefined ? { 'aria-hidden': true } : { role: 'img', 'aria-label': label })}>
      {String.fromCodePoint(ICONS[name])}
    </span>
  );
}
