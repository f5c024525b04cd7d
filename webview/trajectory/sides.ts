/** How side models look. */
import type { IconName } from '../components/marks/icon.tsx';

export function sideIcon(side: string): IconName {
  return side === 'user' ? 'person' : side === 'judge' ? 'beaker' : 'comment';
}
