/** The parts of the filter bar that belong to groups. */
import { count } from '../../../src/common/units.ts';
import { ESTIMATORS } from '../../../src/trace/groups/advantages.ts';
import { ESTIMATOR_NAMES } from '../../../src/trace/groups/text.ts';
import { Icon } from '../../components/marks/icon.tsx';
import type { BatchView } from '../batchView.ts';
import { Choice } from '../head/choice.tsx';

/** Shows only the groups with, or without, a signal. */
export function SignalChips({ view }: { readonly view: BatchView }) {
  const { groups, figures } = view;
  const counts = figures?.report.groups;
  if (counts === undefined) return null;
  const chips = [
    { only: 'with', text: 'with signal', title: 'Show only groups whose rewards differ', groups: counts.some },
    {
      only: 'without',
      text: 'no signal',
      title: 'Show only groups that a trainer learns nothing from',
      groups: counts.none + counts.excluded,
    },
  ] as const;
  return (
    <div class="batch-chips" role="group" aria-label="Groups">
      {chips.map(({ only, text, title, groups: number }) => (
        <button
          key={only}
          type="button"
          class="batch-chip is-filter"
          aria-pressed={groups.only === only}
          title={title}
          onClick={() => groups.filterBy(only)}
        >
          {only === 'without' && <Icon name="warning" />}
          {text} <span class="batch-chip-count">{count(number)}</span>
        </button>
      ))}
    </div>
  );
}

export function EstimatorChoice({ view, narrow }: { readonly view: BatchView; readonly narrow: boolean }) {
  return (
    <Choice
      name="Advantage"
      icon="lightbulb"
      narrow={narrow}
      value={view.groups.estimator}
      options={ESTIMATORS.map((value) => ({ value, text: ESTIMATOR_NAMES[value] }))}
      onChange={(estimator) => view.groups.estimate(estimator)}
    />
  );
}
