/** The head of the page: the attempt with its outcome and figures, and buttons for navigation and actions. */

import { compact, count, duration } from '../../../src/common/units.ts';
import type { PagePlace, PageVerb } from '../../../src/protocol/page.ts';
import { outcomeOf } from '../../../src/trace/outcome.ts';
import { scenarioOfTask } from '../../../src/trace/task.ts';
import { Button, refusedProps } from '../../components/controls.tsx';
import { ActionLink } from '../../components/link.tsx';
import { Glyph } from '../../components/marks/glyph.tsx';
import { MenuButton } from '../../components/overlays/menu.tsx';
import { Quantity } from '../../components/quantity.tsx';
import { copyEntries } from '../copying.ts';
import { currentHold } from '../debug/edits.ts';
import { labelEntries } from '../label.ts';
import { currentRow } from '../reason.ts';
import type { TrajectorySession } from '../session.ts';
import { taskNameOf, taskTitle } from '../title.ts';
import { ModeSwitch } from '../transcript/modeSwitch.tsx';
import './head.css';

interface HeadProps {
  readonly session: TrajectorySession;
  readonly can: ReadonlySet<PageVerb>;
  readonly onAttempt: (distance: 1 | -1) => void;
  readonly onSearch: () => void;
  readonly onKeys: () => void;
  readonly onBookmark: () => void;
  readonly onNote: () => void;
  /** Opens the menu of what can be copied. */
  readonly copyMenu: { current: (() => void) | null };
}

export function TrajectoryHead({ session, can, onAttempt, onSearch, onKeys, onBookmark, onNote, copyMenu }: HeadProps) {
  const { data } = session;
  const { row } = data.info ?? {};
  const end = data.model.end?.data;
  const totals = end?.totals;
  // While only a part is loaded, the row has the totals.
  const part = data.model.skipped === undefined ? undefined : row?.progress;
  const usage = part ?? data.model.usageAt();
  const steps = totals?.steps ?? part?.step ?? data.model.steps.length - 1;
  const tokens = (totals?.input_tokens ?? usage.input_tokens) + (totals?.output_tokens ?? usage.output_tokens);
  const side = totals?.side ?? part?.side ?? data.model.usageAt(undefined, 'side');
  const sideTokens = side.input_tokens + side.output_tokens;
  const ms = totals?.ms ?? row?.progress.ms;
  const cost = totals?.cost;
  const running = !data.ended && data.loading === 'head';
  const current = currentRow(data);
  const scenario = scenarioOfTask(data.info?.task);
  const [batch, definition] = [data.batch, data.definition];
  const { trimmed } = session.debug;
  const editRefused = session.debug.refused(currentHold(data.model) === undefined ? 'launch' : 'control');
  const place: PagePlace = { page: 'trajectory', rollout: data.rollout, seq: session.seq };
  return (
    <header class="trajectory-head">
      <div class="head-names">
        {current !== undefined && <Glyph outcome={outcomeOf(current)} title={outcomeOf(current)} />}
        <h1 title={taskTitle(data)}>{taskNameOf(data) ?? 'Trajectory'}</h1>
        {row !== undefined && (
          <span class="head-attempt">
            <Button
              kind="icon"
              icon="chevron-left"
              label="Previous attempt"
              title="Previous attempt ([)"
              onClick={() => onAttempt(-1)}
            />
            <span>
              attempt <b>{row.attempt}</b>
              {batch !== undefined && <span class="dim">/{batch.attempts}</span>}
              {row.try > 1 && <span class="dim">, try {row.try}</span>}
            </span>
            <Button
              kind="icon"
              icon="chevron-right"
              label="Next attempt"
              title="Next attempt (])"
              onClick={() => onAttempt(1)}
            />
          </span>
        )}
        {scenario !== undefined && (
          <span class="head-scenario" title={`Scenario ${scenario}`}>
            {can.has('world') ? (
              <ActionLink
                label={scenario}
                title={`Open the World page of ${scenario}`}
                onClick={() => session.act({ do: 'world', rollout: data.rollout, scenario })}
              />
            ) : (
              scenario
            )}
          </span>
        )}
      </div>
      <div class="head-numbers">
        {end !== undefined && end.reward !== null && (
          <span class="quantity">
            <span class="dim">reward</span> <b>{end.reward}</b>
          </span>
        )}
        {data.model.last > 0 && <Quantity value={count(steps)} unit={steps === 1 ? 'step' : 'steps'} />}
        {ms !== undefined && <b>{duration(ms)}</b>}
        {tokens > 0 && <Quantity value={compact(tokens)} unit="tokens" />}
        {sideTokens > 0 && <Quantity value={compact(sideTokens)} unit="side tokens" />}
        {cost !== undefined && <Quantity value={`$${cost.toFixed(cost < 0.1 ? 4 : 2)}`} unit="cost" />}
      </div>
      <div class="head-moves" role="group" aria-label="Move">
        <Button
          kind="icon"
          icon="debug-reverse-continue"
          label="First step"
          title="First step (Home)"
          {...refusedProps(trimmed)}
          onClick={() => session.moves.end('first')}
        />
        <Button
          kind="icon"
          icon="debug-step-back"
          label="Previous step"
          title="Previous step (Shift+K)"
          {...refusedProps(trimmed)}
          onClick={() => session.moves.step(-1)}
        />
        <Button
          kind="icon"
          icon="debug-step-over"
          label="Next step"
          title="Next step (Shift+J)"
          {...refusedProps(trimmed)}
          onClick={() => session.moves.step(1)}
        />
        <Button
          kind="icon"
          icon="debug-continue"
          label="Last step"
          title="Last step (End)"
          {...refusedProps(trimmed)}
          onClick={() => session.moves.end('last')}
        />
        {running && session.debug.editable && currentHold(data.model) === undefined && (
          <Button
            kind="icon"
            icon="debug-pause"
            label="Pause rollout"
            title="Pause the rollout at its next call (P)"
            {...refusedProps(session.debug.refused('control'))}
            onClick={() => session.debug.command('hold')}
          />
        )}
        {running && (
          <Button
            kind="secondary"
            icon={session.following ? 'circle-filled' : 'eye'}
            label={session.following ? 'Following' : 'Follow'}
            title="Follow the running rollout (.)"
            pressed={session.following}
            onClick={() => session.follow(!session.following)}
          />
        )}
      </div>
      <span class="grow" />
      <div class="head-actions">
        {trimmed === undefined && <ModeSwitch session={session} />}
        {batch !== undefined && can.has('open') && (
          <ActionLink
            label={batch.name}
            title="Open the batch"
            onClick={() => session.act({ do: 'open', place: { page: 'batch', batch: batch.batch } })}
          />
        )}
        {batch !== undefined && batch.attempts > 1 && can.has('open') && (
          <Button
            kind="secondary"
            icon="diff"
            label="Compare"
            title="Compare all attempts of this task (C)"
            {...refusedProps(trimmed)}
            onClick={() => session.compare()}
          />
        )}
        {definition !== undefined && (
          <code class="head-revision" title={`${definition.agentFile}, ${definition.model}`}>
            {definition.agent}@{definition.revision}
          </code>
        )}
        {!session.readOnly && (
          <Button
            kind="icon"
            icon="bookmark"
            label="Bookmark"
            title="Bookmark (M)"
            {...refusedProps(trimmed ?? session.debug.refused('control'))}
            pressed={data.notes.isBookmarked(data.rollout, session.seq)}
            onClick={onBookmark}
          />
        )}
        <Button
          kind="icon"
          icon="search"
          label="Search"
          title="Search steps, arguments, and results (/)"
          {...refusedProps(trimmed)}
          onClick={onSearch}
        />
        <MenuButton label="Copy" icon="copy" title="Copy (Y)" entries={copyEntries(session)} control={copyMenu} />
        <MenuButton
          label="More"
          icon="ellipsis"
          entries={[
            ...(can.has('debug')
              ? [{ label: 'Debug from Here', refused: trimmed, onClick: () => session.act({ do: 'debug', place }) }]
              : []),
            ...(can.has('call') && data.model.span(session.seq)?.kind === 'tool'
              ? [
                  { label: 'Re-run This Call', onClick: () => session.act({ do: 'call', place, what: 'rerun' }) },
                  { label: 'Try Tool…', onClick: () => session.act({ do: 'call', place, what: 'try' }) },
                  { label: 'Save Call as Test Case', onClick: () => session.act({ do: 'call', place, what: 'test' }) },
                ]
              : []),
            ...(session.debug.editable
              ? [
                  { label: 'Edit…', keys: 'A', refused: editRefused, onClick: () => session.debug.editSelected() },
                  {
                    label: 'Fork from Here…',
                    keys: 'F',
                    refused: session.debug.refused('launch'),
                    onClick: () => session.debug.forkSelected(),
                  },
                ]
              : []),
            { label: 'Breakpoints…', keys: 'Shift+B', refused: trimmed, onClick: () => session.debug.openBox(true) },
            ...(session.readOnly
              ? []
              : [
                  {
                    label: 'Add Note…',
                    keys: 'N',
                    refused: trimmed ?? session.debug.refused('control'),
                    onClick: onNote,
                  },
                ]),
            ...labelEntries(session),
            ...(can.has('save')
              ? [
                  {
                    label: 'Save as HTML…',
                    onClick: () => session.act({ do: 'save', place: { page: 'trajectory', rollout: data.rollout } }),
                  },
                ]
              : []),
            { label: 'Keyboard Shortcuts', keys: '?', onClick: onKeys },
          ]}
        />
      </div>
    </header>
  );
}
