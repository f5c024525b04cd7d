/** The heading of one of two attempts, with a menu that chooses another one. */
import { duration } from '../../../src/common/units.ts';
import type { ComparedAttempt } from '../../../src/trace/align/attempt.ts';
import type { RolloutRow } from '../../../src/trace/summary.ts';
import { Glyph } from '../../components/marks/glyph.tsx';
import { MenuButton } from '../../components/overlays/menu.tsx';
import type { Side } from './sideStep.tsx';

interface SideHeadProps {
  readonly side: Side;
  readonly focused: boolean;
  readonly index: number;
  readonly attempts: readonly ComparedAttempt[];
  readonly row: RolloutRow | undefined;
  readonly nameOf: (index: number) => string;
  readonly tag: string | undefined;
  readonly onChoose: (index: number) => void;
  readonly onFocus: () => void;
}

export function SideHead({ side, focused, index, attempts, row, nameOf, tag, onChoose, onFocus }: SideHeadProps) {
  const attempt = attempts[index];
  if (attempt === undefined) return null;
  const { ms } = row?.progress ?? {};
  return (
    <div class={`two-head is-${side}${focused ? ' is-focused' : ''}`} onClick={onFocus}>
      <Glyph outcome={attempt.outcome} title={attempt.outcome} />
      <b>{nameOf(index)}</b>
      <MenuButton
        label={`Choose the ${side} attempt`}
        icon="chevron-down"
        entries={attempts.map((one, at) => ({
          label: `${nameOf(at)} · ${one.outcome}`,
          checked: at === index,
          onClick: () => onChoose(at),
        }))}
      />
      {tag !== undefined && <span class="compare-tag two-wide">{tag}</span>}
      <span class="dim two-facts">
        {attempt.actions.length} {attempt.actions.length === 1 ? 'step' : 'steps'}
        {ms === undefined ? '' : ` · ${duration(ms)}`}
      </span>
      <span class="grow" />
      {attempt.reward !== null && (
        <span class="two-reward" title="Reward">
          <span class="dim two-wide">reward </span>
          <b>{Number(attempt.reward.toFixed(3))}</b>
        </span>
      )}
    </div>
  );
}
