/** The members of the group at the cursor. */
import type { VNode } from 'preact';
import { compact } from '../../../src/common/units.ts';
import { advantageText, rewardText } from '../../../src/trace/groups/text.ts';
import { Button } from '../../components/controls.tsx';
import { Glyph } from '../../components/marks/glyph.tsx';
import { VirtualList } from '../../components/virtualList.tsx';
import { useChanges } from '../../data/observe.ts';
import type { BatchActions } from '../batchActions.ts';
import type { BatchView } from '../batchView.ts';
import { outcomeAt } from '../model/taskFacts.ts';
import './groups.css';
import type { TaskGroup } from './groupsModel.ts';
import { countText, excludedTexts, figureText, memberText, stateText } from './groupTexts.ts';

interface PaneProps {
  readonly view: BatchView;
  readonly actions: BatchActions;
}

const ROW = 24;

export function GroupPane({ view, actions }: PaneProps) {
  useChanges(view.pointed);
  const { cursor, groups } = view;
  if (cursor?.on !== 'cell')
    return (
      <aside class="group-pane" aria-label="Group">
        <p class="attempt-none">Move to a group with the arrow keys, or click it.</p>
      </aside>
    );
  const { index, attempt } = cursor;
  const group = groups.of(index);
  const name = view.taskName(index);
  const excluded = excludedTexts(group);
  return (
    <aside class="group-pane" aria-label="Group">
      <header class="group-pane-head">
        <h2 title={name}>{name}</h2>
        {view.width > 1 && actions.can.has('open') && (
          <Button kind="secondary" label="Compare" onClick={() => actions.compare({ index, attempt })} />
        )}
      </header>
      <div class="member-row member-head" aria-hidden="true">
        <span>#</span>
        <span />
        <span class="group-number">reward</span>
        <span class="member-advantage">advantage</span>
        <span class="group-number">tokens</span>
      </div>
      <VirtualList
        count={group.members.length}
        rowHeight={ROW}
        label="Attempts of the group"
        role="listbox"
        selected={attempt - 1}
        keyOf={(position) => position}
        onSelect={(position) => view.moveTo({ on: 'cell', index, attempt: position + 1 })}
        onOpen={(position) => actions.open({ index, attempt: position + 1 }, false)}
        rowProps={(position) => ({
          title: memberText(group, position + 1),
        })}
        row={(position) => memberRow(view, index, group, position)}
      />
      <section class="group-facts">
        {excluded.map((text) => (
          <p key={text}>
            {/^\d+:/.test(text) ? 'Attempt' : 'Attempts'} {text}.
          </p>
        ))}
        <dl>
          <dt>Mean reward</dt>
          <dd>{figureText(group.mean)}</dd>
          <dt title="Sample standard deviation of the rewards">Spread</dt>
          <dd>{figureText(group.spread)}</dd>
          <dt>Count</dt>
          <dd>
            {group.scored} of {group.members.length}
          </dd>
          {stateText(group) !== '' && excluded.length === 0 && (
            <>
              <dt>State</dt>
              <dd>{stateText(group)}</dd>
            </>
          )}
        </dl>
      </section>
    </aside>
  );
}

function memberRow(view: BatchView, index: number, group: TaskGroup, position: number): VNode | null {
  const member = group.members[position];
  if (member === undefined) return null;
  const advantage = group.advantages[position] ?? null;
  const outcome = outcomeAt(view.row(index, member.attempt));
  const share = advantage === null || group.largest === 0 ? 0 : Math.abs(advantage) / group.largest;
  return (
    <div class={`member-row${member.why === undefined ? '' : ' is-excluded'}`}>
      <span>
        <span class="only-read">Attempt </span>
        {member.attempt}
      </span>
      <Glyph outcome={outcome} title={outcome} />
      <span class="group-number">
        <span class="only-read">reward </span>
        {member.reward === null ? '–' : rewardText(member.reward)}
      </span>
      <span class="member-advantage">
        <span class="only-read">advantage </span>
        {member.why !== undefined ? (
          <s>excluded</s>
        ) : member.open ? (
          <span class="batch-dim">{outcome}</span>
        ) : (
          <>
            <span class="member-bar" aria-hidden="true">
              <i
                class={advantage !== null && advantage < 0 ? 'is-below' : 'is-above'}
                style={{ width: `${50 * share}%` }}
              />
            </span>
            <span class="group-number">{advantageText(advantage ?? 0)}</span>
          </>
        )}
      </span>
      <span class="group-number">{compact(member.tokens)}</span>
    </div>
  );
}

/** The member at the cursor in two lines, below the list of a page without a pane. */
export function GroupSheet({ view, actions }: PaneProps) {
  useChanges(view.pointed);
  const { cursor, groups } = view;
  if (cursor?.on !== 'cell') return null;
  const { index, attempt } = cursor;
  const group = groups.of(index);
  const member = group.members[attempt - 1];
  const state = stateText(group);
  if (member === undefined) return null;
  return (
    <aside class="attempt-sheet group-sheet" aria-label="Group">
      <div class="attempt-sheet-line">
        <Glyph outcome={outcomeAt(view.row(index, attempt))} size={14} />
        <span class="group-task">{view.taskName(index)}</span>
        <span class={`group-sheet-member${member.why === undefined ? '' : ' is-excluded'}`}>
          {attempt} of {view.width}
        </span>
        <span class="batch-grow" />
        {view.row(index, attempt) !== undefined && (
          <Button kind="secondary" label="Open" onClick={() => actions.open({ index, attempt }, false)} />
        )}
      </div>
      <div class="attempt-sheet-why">{memberText(group, attempt)}</div>
      <div class="attempt-small">
        {[
          `mean ${figureText(group.mean)}`,
          `spread ${figureText(group.spread)}`,
          countText(group),
          ...(state === '' ? [] : [state]),
        ].join(' · ')}
      </div>
    </aside>
  );
}
