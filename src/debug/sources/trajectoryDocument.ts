/**
 * A trajectory as a read-only text document: a line for each stop, with its result below, folded by indentation. Lines
 * are only appended, so that breakpoints keep their lines.
 */

import { joinedLines } from '../../common/text.ts';
import { duration } from '../../common/units.ts';
import { textOf } from '../../trace/model/messages.ts';
import { countUpTo } from '../../trace/model/search.ts';
import type { AnyEvent, TrajectoryModel } from '../../trace/model.ts';
import type { EventOf } from '../../trace/schema.ts';
import { Stops } from '../../trace/stops.ts';
import { sideLabel } from '../../trace/text/labels.ts';
import { scoreText } from '../../trace/text/score.ts';
import { changeText, errorText, inline, partsText } from '../../trace/text/values.ts';
import { unescapeKeys } from '../../trace/values/keys.ts';

/** Longer values are shortened: the Variables view has them in full. */
const WIDTH = 200;

export class TrajectoryDocument {
  readonly #model: TrajectoryModel;
  readonly #title: string;
  readonly #lines: string[] = [];
  /** seq and first line of each event with lines, both ascending. */
  readonly #seqs: number[] = [];
  readonly #starts: number[] = [];
  #processed = 0;

  constructor(model: TrajectoryModel, title: string) {
    this.#model = model;
    this.#title = title;
  }

  get text(): string {
    this.#update();
    return `${this.#lines.join('\n')}\n`;
  }

  get lineCount(): number {
    this.#update();
    return this.#lines.length;
  }

  /** Returns the line (from 1) of a stop. */
  lineOf(seq: number): number {
    this.#update();
    return (this.#starts[countUpTo(this.#seqs, seq) - 1] ?? 0) + 1;
  }

  /** Returns the stop of a line: the one on it, or else the one above; for the heading, the first. */
  stopAt(line: number): number | undefined {
    this.#update();
    const stops = Stops.of(this.#model);
    for (let index = countUpTo(this.#starts, line - 1) - 1; index >= 0; index--) {
      const seq = this.#seqs[index];
      if (seq !== undefined && stops.parentOf(seq) !== undefined) return seq;
    }
    return stops.all[0];
  }

  #update(): void {
    if (this.#lines.length === 0) this.#lines.push(this.#title, '');
    for (; this.#processed < this.#model.last; this.#processed++) {
      const event = this.#model.event(this.#processed + 1);
      if (event === undefined || 'unknown' in event) continue;
      const lines = this.#write(event);
      if (lines.length === 0) continue;
      this.#seqs.push(event.seq);
      this.#starts.push(this.#lines.length);
      const indent = '  '.repeat(this.#depth(event));
      for (const line of lines) this.#lines.push(indent + line);
    }
  }

  #depth(event: AnyEvent): number {
    const stops = Stops.of(this.#model);
    const own = stops.parentOf(event.seq);
    if (own !== undefined) return stops.chain(event.seq).length - 1;
    return event.span === undefined || stops.parentOf(event.span) === undefined ? 0 : stops.chain(event.span).length;
  }

  #write(event: Exclude<AnyEvent, { unknown: true }>): string[] {
    switch (event.kind) {
      case 'message':
        return this.#message(event);
      case 'model.start':
        if (event.data.side !== undefined)
          return [sideLabel(event.data.side) + (event.data.model === undefined ? '' : ` · ${event.data.model}`)];
        return [
          'step ' +
            `${event.data.step}${event.agent === undefined ? '' : ` · ${event.agent}`}` +
            (event.data.model === undefined ? '' : ` · ${event.data.model}`),
        ];
      case 'model.end':
        return this.#modelEnd(event);
      case 'tool.start':
        return [cut(`${event.data.name} ${inline(unescapeKeys(event.data.arguments))}`)];
      case 'tool.end': {
        const span = event.span === undefined ? undefined : this.#model.span(event.span);
        const result = span?.kind === 'tool' ? this.#model.resultOf(span)?.value : undefined;
        const ms = event.data.ms === undefined ? '' : ` · ${duration(event.data.ms)}`;
        if (event.data.error !== undefined) return [cut(`✗ ${errorText(event.data.error)}`) + ms];
        return [cut(`→ ${result === undefined ? 'nothing' : inline(unescapeKeys(result))}`) + ms];
      }
      case 'agent.start':
        return [`agent ${event.agent ?? ''} · ${event.data.how}`];
      case 'world.diff':
        return event.data.changes.map((change) => cut(`± ${changeText(change)}`));
      case 'score':
        return [
          `score · ${event.data.scorer} · ` +
            scoreText(event.data.value) +
            (event.data.passed === null ? '' : event.data.passed ? ' · passed' : ' · failed'),
          ...(event.data.explanation === undefined ? [] : [cut(`  ${event.data.explanation}`)]),
        ];
      case 'hold':
        return [`‖ held ${event.data.side} the call · ${event.data.why}`];
      case 'edit':
        return [
          cut(
            `✎ ${event.data.path} = ` +
              `${inline(unescapeKeys(event.data.value))}${event.data.by === undefined ? '' : ` · ${event.data.by}`}`,
          ),
        ];
      case 'log':
        return [cut(`▸ ${typeof event.data.text === 'string' ? event.data.text : event.data.text.head}`)];
      case 'rollout.end':
        return [
          'end · ' +
            `${event.data.status}${event.data.passed === null ? '' : event.data.passed ? ' · passed' : ' · failed'} ` +
            `· reward ${scoreText(event.data.reward)}`,
        ];
      default:
        return [];
    }
  }

  #message({ seq, data }: EventOf<'message'>): string[] {
    // Replies are shown at the end of their call.
    if (Stops.of(this.#model).parentOf(seq) === undefined && data.origin !== 'edited') return [];
    return [cut(`${data.role}${data.origin === 'edited' ? ' (edited)' : ''}: ${partsText(data.parts)}`)];
  }

  #modelEnd(event: EventOf<'model.end'>): string[] {
    const { error, m, usage, ms } = event.data;
    const reply = m === undefined ? undefined : this.#model.message(m)?.event.data.parts;
    const text = reply === undefined ? '' : textOf(reply);
    const thought = reply === undefined ? '' : textOf(reply, 'reasoning');
    const figures = [
      ms === undefined ? '' : duration(ms),
      usage === undefined ? '' : `${usage.input_tokens} → ${usage.output_tokens} tokens`,
    ]
      .filter((part) => part !== '')
      .join(' · ');
    return [
      ...(error === undefined ? [] : [cut(`✗ ${errorText(error)}`)]),
      ...(thought === '' ? [] : [cut(`… ${thought}`)]),
      ...(text === '' ? [] : [cut(`“${text}”`)]),
      ...(figures === '' ? [] : [figures]),
    ];
  }
}

/** Shortens a text to one line. */
function cut(text: string): string {
  const line = joinedLines(text, ' ⏎ ').replaceAll(/[\u0000-\u001f\u007f]/g, ' ');
  return line.length > WIDTH ? `${line.slice(0, WIDTH - 1)}…` : line;
}
