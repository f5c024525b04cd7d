/** Checks whether a world model obeyed the rules that it was told, after each of its calls. */
import type { Json } from '../../common/json.ts';
import type { SubmittedRule } from '../../config/submission/rule.ts';
import { controlScorer } from '../../trace/callReward.ts';
import { gateEnvironment } from '../../trace/query/environment.ts';
import { compileCondition, type Query } from '../../trace/query.ts';
import type { EventData } from '../../trace/schema.ts';
import type { TaskRecord } from '../../trace/task.ts';
import type { EffectResult } from '../act/act.ts';
import type { Draft } from '../log/log.ts';

interface Control {
  readonly name: string;
  readonly say: string;
  readonly when: Query | undefined;
  readonly check: Query;
}

interface ControlsParts {
  readonly rules: readonly SubmittedRule[];
  readonly task: TaskRecord;
  readonly attempt: number;
  /** Whether the record already has a score of a call. */
  readonly isScored: (span: number, scorer: string) => boolean;
  readonly append: (drafts: Draft[]) => void;
}

/** A call that has ended. */
interface CheckedCall {
  /** With the edits made at the gate. */
  readonly request: EventData['tool.start'];
  readonly agent: string;
  readonly step: number;
  /** Number of equal earlier calls of the agent. */
  readonly repeats: number;
  readonly done: EffectResult<'tool'>;
}

export class Controls {
  readonly #parts: ControlsParts;
  readonly #controls: readonly Control[];

  private constructor(parts: ControlsParts, controls: readonly Control[]) {
    this.#parts = parts;
    this.#controls = controls;
  }

  /** Returns undefined if no rule has a check. */
  static of(parts: ControlsParts): Controls | undefined {
    const controls = parts.rules.flatMap(({ name, when, say, check }): Control[] =>
      say === undefined || check === undefined
        ? []
        : [
            {
              name,
              say,
              when: when === undefined ? undefined : compileCondition(when),
              check: compileCondition(check),
            },
          ],
    );
    return controls.length === 0 ? undefined : new Controls(parts, controls);
  }

  /** Records a score of the call for each rule that selects it, unless the record has it. */
  ended(call: CheckedCall): void {
    const observation = simulatedIn(call.done);
    if (observation === undefined) return;
    const { span } = call.done;
    const drafts = this.#controls.flatMap(({ name, say, when, check }): Draft[] => {
      const scorer = controlScorer(name);
      if (this.#parts.isScored(span, scorer)) return [];
      if (when !== undefined && !when.matches(this.#environment(call, undefined)).matched) return [];
      const found = check.matches(this.#environment(call, observation));
      const why = found.matched || found.why === undefined ? '' : ` (\`check\`: ${found.why})`;
      return [
        {
          kind: 'score',
          span,
          data: {
            scorer,
            value: found.matched ? 1 : 0,
            passed: found.matched,
            explanation: `${found.matched ? 'Obeyed' : 'Not obeyed'}${why}: ${say}`,
          },
        },
      ];
    });
    if (drafts.length > 0) this.#parts.append(drafts);
  }

  /** `observation`: undefined before the call. */
  #environment({ request, agent, step, repeats, done }: CheckedCall, observation: Json | undefined) {
    const { task, attempt } = this.#parts;
    const tool = { name: request.name, arguments: request.arguments, effect: request.effect, repeats };
    const common = { step, agent, task, attempt };
    const { end, span } = done;
    return observation === undefined || end === undefined
      ? gateEnvironment({ ...common, side: 'before', event: { seq: span, kind: 'tool.start', data: request }, tool })
      : gateEnvironment({
          ...common,
          side: 'after',
          event: { seq: done.endSeq, kind: 'tool.end', data: end, span },
          tool: { ...tool, result: observation, ms: end.ms, injected: end.injected },
          observation,
        });
  }
}

/** Returns what the world model answered, whatever the agent saw; undefined if it answered nothing. */
function simulatedIn({ end, message }: EffectResult<'tool'>): Json | undefined {
  if (end?.source !== 'simulated' || end.status !== 'ok' || message?.origin === 'edited') return undefined;
  const part = message?.parts.find(({ type }) => type === 'tool_call_response');
  return end.result ?? (part?.type === 'tool_call_response' ? part.response : undefined);
}
