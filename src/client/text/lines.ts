/** Renders events and rollout rows as single lines, for logs and `rollout tail`. */

import { oneLine, plural } from '../../common/text.ts';
import { duration } from '../../common/units.ts';
import { causeOf } from '../../trace/cause.ts';
import { heldText, holdOf, holdSummary } from '../../trace/holder.ts';
import { provenanceIn } from '../../trace/provenance.ts';
import type { Part, TraceEvent } from '../../trace/schema.ts';
import type { RolloutRow } from '../../trace/summary.ts';

const MAX_LENGTH = 160;

/** Marks differ in shape, so that the outcome does not depend on color. */
export function outcomeMark(row: RolloutRow): string {
  const { progress, state } = row;
  if (state === 'queued') return '·';
  if (state === 'held') return '‖';
  if (state === 'running') return '▷';
  if (progress.status === 'infrastructure') return '⚠';
  if (progress.status === 'cancelled') return '○';
  if (progress.status === 'truncated') return '◐';
  return progress.passed === true ? '●' : progress.passed === false ? '✗' : '?';
}

export function rowLine(row: RolloutRow): string {
  const { progress } = row;
  const hold = holdOf(row);
  const parts = [
    outcomeMark(row),
    `${row.task}/${row.attempt}`,
    row.try > 1 ? `try ${row.try}` : '',
    hold === undefined ? row.state : heldText(hold, Date.now()),
    plural(progress.steps, 'step'),
    progress.ms === undefined ? '' : duration(progress.ms),
    causeOf(row)?.text ?? '',
  ];
  return parts.filter((part) => part !== '').join('  ');
}

export function eventLine(event: TraceEvent): string {
  const head = `${String(event.seq).padStart(5)}  ${event.kind.padEnd(14)}`;
  return `${head} ${oneLine(detail(event), MAX_LENGTH)}`.trimEnd();
}

function detail(event: TraceEvent): string {
  switch (event.kind) {
    case 'message':
      return `${event.data.role}: ${event.data.parts.map(partText).join(' ')}`;
    case 'model.start':
      return (
        (event.data.side === undefined ? '' : `${event.data.side} in `) + `step ${event.data.step}, ${event.data.model}`
      );
    case 'model.end':
      return [
        event.data.status,
        event.data.finish_reason,
        event.data.ms === undefined ? '' : duration(event.data.ms),
        event.data.error?.message,
      ]
        .filter(Boolean)
        .join(', ');
    case 'tool.start':
      return `${event.data.name} ${JSON.stringify(event.data.arguments)}`;
    case 'tool.end':
      return [
        event.data.status,
        ...provenanceIn(event.data.source, event.data.injected),
        event.data.ms === undefined ? '' : duration(event.data.ms),
        event.data.error?.message,
      ]
        .filter(Boolean)
        .join(', ');
    case 'log':
      return typeof event.data.text === 'string' ? event.data.text : event.data.text.head;
    case 'hold':
      return `${heldText(holdSummary(event), Date.now())}, ${event.data.side} the call`;
    case 'infra':
    case 'note':
      return event.data.text;
    default:
      return JSON.stringify(event.data);
  }
}

function partText(part: Part): string {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return typeof part.content === 'string' ? part.content : part.content.head;
    case 'tool_call':
      return `→ ${part.name} ${JSON.stringify(part.arguments)}`;
    case 'tool_call_response':
      return JSON.stringify(part.response);
    case 'blob':
      return `[${part.mime_type}]`;
    case 'uri':
      return part.uri;
  }
}
