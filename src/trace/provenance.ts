import type { MessageEntry } from './model/messages.ts';
import type { ToolSpan } from './model/spans.ts';
import type { TrajectoryModel } from './model.ts';
import type { Source } from './schema.ts';

/** Where what the agent saw of a call does not come from its tool. Of predictions, it sees those that it asked for. */
export type Provenance = 'simulated' | 'facts' | 'overlay' | 'recorded' | 'predicted' | 'injected' | 'edited';

export const PROVENANCE_TITLES: Readonly<Record<Provenance, string>> = {
  simulated: 'Written by the model that plays the world',
  facts: 'Made by code from the facts of the world',
  overlay: 'The real result, changed by the model that plays the world',
  recorded: 'Replayed from a recording',
  predicted: 'Predicted by a model of the world: the call was not made',
  injected: 'Changed by a rule of the world',
  edited: 'Changed by an edit',
};

/** Returns what applies to a call that has ended; nothing if the tool itself answered. */
export function provenanceOf(model: TrajectoryModel, span: ToolSpan): Provenance[] {
  if (span.end === undefined) return [];
  const { source, injected } = span.end.data;
  return provenanceIn(source, injected, model.resultOf(span)?.edited === true);
}

const SHOWN = ['simulated', 'facts', 'overlay', 'recorded', 'predicted'] as const;

function isShown(source: Source | undefined): source is (typeof SHOWN)[number] {
  return SHOWN.some((each) => each === source);
}

/** `injected`: the rule that changed the call. `edited`: whether its result was. */
export function provenanceIn(source: Source | undefined, injected: string | undefined, edited = false): Provenance[] {
  return [
    ...(isShown(source) ? [source] : []),
    ...(injected === undefined ? [] : ['injected' as const]),
    ...(edited || source === 'edited' ? ['edited' as const] : []),
  ];
}

/** Returns what applies to the results in a tool message, apart from its own edit. */
export function provenanceOfMessage(model: TrajectoryModel, { event }: MessageEntry): Provenance[] {
  if (event.data.role !== 'tool') return [];
  const found = event.data.parts.flatMap((part) => {
    const span = part.type === 'tool_call_response' ? model.call(part.id) : undefined;
    return span === undefined ? [] : provenanceOf(model, span);
  });
  return [...new Set(found)].filter((from) => from !== 'edited');
}
