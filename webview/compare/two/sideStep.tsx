/** A step of two attempts side by side: their calls in full, with the parts that differ tinted. */
import type { ComponentChildren, VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { Action, ActionCall } from '../../../src/trace/align/actions.ts';
import { type SideField, type SideRow, sharedArguments, sideFields } from '../../../src/trace/align/twoSides.ts';
import { PROVENANCE_TITLES } from '../../../src/trace/provenance.ts';
import { inline, valueText } from '../../../src/trace/text/values.ts';
import { Icon } from '../../components/marks/icon.tsx';
import { DiffText } from '../../values/diffText.tsx';
import { inlineDiff } from '../../values/inlineDiff.ts';

export type Side = 'left' | 'right';
const OTHER: Readonly<Record<Side, Side>> = { left: 'right', right: 'left' };
const KINDS = { left: 'actual', right: 'expected' } as const;
const SIGNS: Readonly<Record<SideRow['state'], readonly [string, string]>> = {
  same: ['', 'equal'],
  differs: ['≠', 'differs'],
  left: ['−', 'only on the left'],
  right: ['−', 'only on the right'],
};

export function SideStep({ row, focused }: { readonly row: SideRow; readonly focused: Side | undefined }) {
  // The same node for the same step: scrolling and moving diff only steps that were not shown before.
  return useMemo(() => stepOf(row, focused), [row, focused]);
}

function stepOf(row: SideRow, focused: Side | undefined): VNode {
  const [sign, label] = SIGNS[row.state];
  return (
    <>
      <SideCell row={row} side="left" focused={focused === 'left'} />
      <span class={`two-sign${row.state === 'differs' ? ' is-different' : ''}`} title={label}>
        <span aria-hidden="true">{sign}</span>
        <span class="only-read">{label}</span>
      </span>
      <SideCell row={row} side="right" focused={focused === 'right'} />
    </>
  );
}

function SideCell({ row, side, focused }: { readonly row: SideRow; readonly side: Side; readonly focused: boolean }) {
  const action = row[side];
  const name = `two-cell is-${side}${focused ? ' is-focused' : ''}`;
  if (action === undefined)
    return (
      <div class={`${name} is-gap`} data-side={side}>
        <span class="only-read">no step</span>
      </div>
    );
  const other = row[OTHER[side]];
  return (
    <div class={`${name} is-${row.state}`} data-side={side}>
      <span class="two-step">{action.step}</span>
      <span class="two-icon">
        <Icon name={action.kind === 'calls' ? 'tools' : action.kind === 'error' ? 'error' : 'comment'} />
      </span>
      <div class="two-content">
        {action.kind === 'calls' ? (
          action.calls.map((call, index) => (
            <Call key={index} call={call} other={other?.calls[index]} side={side} same={row.state === 'same'} />
          ))
        ) : (
          <Words action={action} other={other} side={side} />
        )}
      </div>
    </div>
  );
}

function Words({
  action,
  other,
  side,
}: {
  readonly action: Action;
  readonly other: Action | undefined;
  readonly side: Side;
}) {
  const text = wordsOf(action);
  return (
    <p class="two-words">
      {other === undefined || other.kind === 'calls' ? text : <Diff own={text} other={wordsOf(other)} side={side} />}
    </p>
  );
}

function wordsOf({ kind, text }: Action): string {
  return kind === 'error' ? 'The model call failed' : text === '' ? '(empty)' : text;
}

interface CallProps {
  readonly call: ActionCall;
  readonly other: ActionCall | undefined;
  readonly side: Side;
  readonly same: boolean;
}

function Call({ call, other, side, same }: CallProps) {
  const fields = same ? [] : side === 'left' ? sideFields(call, other) : sideFields(other, call);
  const paired = other?.name === call.name;
  const shared = same ? inline(call.arguments).replace(/^\{|\}$/g, '') : paired ? sharedArguments(call, other) : '';
  return (
    <>
      <p class="two-call">
        {call.error !== undefined && <span class="two-error">✗ </span>}
        {call.injected !== undefined && <span class="mark">Rule {call.injected}</span>}
        {call.provenance
          ?.filter((from) => from !== 'injected')
          .map((from) => (
            <span key={from} class="mark" title={PROVENANCE_TITLES[from]}>
              {from}
            </span>
          ))}
        {paired || other === undefined ? (
          call.name
        ) : (
          <DiffText spans={[{ text: call.name, differs: true }]} kind={KINDS[side]} />
        )}{' '}
        <span class="dim">
          {shared}
          {same && call.result !== undefined ? ` → ${short(valueText(call.result))}` : ''}
        </span>
      </p>
      {fields.length > 0 && (
        <dl class="two-fields">
          {fields.map((field) => (
            <Field key={field.name} field={field} side={side} diff={paired} />
          ))}
        </dl>
      )}
    </>
  );
}

interface FieldProps {
  readonly field: SideField;
  readonly side: Side;
  readonly diff: boolean;
}

function Field({ field, side, diff }: FieldProps): ComponentChildren {
  const text = field[side];
  // Both sides have a line for each field, so that lines stand next to each other.
  const other = field[OTHER[side]];
  if (text === undefined && !diff) return null;
  return (
    <>
      <dt>{field.name}</dt>
      <dd>
        {text === undefined ? (
          <span class="dim">none</span>
        ) : text === 'no changes' ? (
          <span class="dim">{text}</span>
        ) : diff ? (
          <Diff own={text} other={other === undefined || other === 'no changes' ? '' : other} side={side} />
        ) : (
          <span class="diff-text">{text}</span>
        )}
      </dd>
    </>
  );
}

function Diff({ own, other, side }: { readonly own: string; readonly other: string; readonly side: Side }) {
  const { before, after } = side === 'left' ? inlineDiff(own, other) : inlineDiff(other, own);
  return <DiffText spans={side === 'left' ? before : after} kind={KINDS[side]} />;
}

function short(text: string): string {
  const line = text.replace(/\s+/g, ' ');
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
}
