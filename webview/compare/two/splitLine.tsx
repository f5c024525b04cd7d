/** The split that matters most, on one line, and how the two attempts are drawn in the flow. */
import type { DecidingGroup, DecidingSplit } from '../../../src/trace/align/deciding.ts';
import { Icon } from '../../components/marks/icon.tsx';

export function SplitLine({
  split,
  left,
  right,
}: {
  readonly split: DecidingSplit;
  /** Names of the two attempts; undefined: there is no flow. */
  readonly left: string | undefined;
  readonly right: string | undefined;
}) {
  const { step, tools, difference, better, worse } = split;
  return (
    <div class="two-split">
      <Icon name="repo-forked" />
      <p>
        <b>Step {step}</b>
        {tools !== undefined && (
          <>
            , <code>{tools}</code>
          </>
        )}
        : difference <b>{difference.toFixed(2).replace(/^0/, '')}</b>. <Group group={better} /> passed;{' '}
        <Group group={worse} />.
      </p>
      {left !== undefined && right !== undefined && (
        <span class="two-legend two-wide dim">
          <Line side="left" /> {left} <Line side="right" /> {right}
        </span>
      )}
    </div>
  );
}

function Line({ side }: { readonly side: 'left' | 'right' }) {
  return <i class={`two-line is-${side}`} aria-hidden="true" />;
}

function Group({ group: { text, passed, scored } }: { readonly group: DecidingGroup }) {
  return (
    <>
      <code>{text === '' ? 'no arguments' : text}</code> — <b>{passed}</b>/{scored}
    </>
  );
}
