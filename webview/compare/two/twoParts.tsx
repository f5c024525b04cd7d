/** A folded run of equal steps, and the foot of the page. */
import type { SideRow } from '../../../src/trace/align/twoSides.ts';
import { Icon } from '../../components/marks/icon.tsx';

/** More names are left out. */
const MAX_NAMES = 12;

export function FoldedSteps({ rows }: { readonly rows: readonly SideRow[] }) {
  const names = rows
    .slice(0, MAX_NAMES)
    .flatMap(({ left }) => (left?.kind === 'calls' ? left.calls.map(({ name }) => name) : ['says']));
  return (
    <>
      <Icon name="chevron-right" />
      <span>{rows.length} equal steps</span>
      <code class="two-wide">
        {names.join(', ')}
        {rows.length > MAX_NAMES ? ', …' : ''}
      </code>
    </>
  );
}

const HINTS: readonly (readonly [keys: readonly string[], text: string])[] = [
  [['D'], 'next difference'],
  [['[', ']'], 'other attempt'],
  [['X'], 'expand equal steps'],
  [['V'], 'all attempts'],
  [['↵'], 'open'],
];

export function TwoFoot({ onKeys }: { readonly onKeys: () => void }) {
  return (
    <footer class="compare-foot">
      <span />
      {HINTS.map(([keys, text]) => (
        <span key={text} class="compare-keys">
          {keys.map((key) => (
            <kbd key={key}>{key}</kbd>
          ))}{' '}
          {text}
        </span>
      ))}
      <button type="button" onClick={onKeys}>
        <kbd>?</kbd> keys
      </button>
    </footer>
  );
}
