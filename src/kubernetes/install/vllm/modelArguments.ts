/** What `vllm serve` needs for models that it does not serve well by itself. */
import type { VllmOptions } from './options.ts';
import type { Family } from './sizing/families.ts';
import { hasFlag, type Plan, planOf } from './sizing/plan.ts';

type Flags = Readonly<Record<string, string | true>>;

const REASONING_PARSER = '--reasoning-parser';

const MODELS: readonly { readonly name: RegExp; readonly flags: Flags }[] = [
  {
    // Its configuration declares vision parts that its weights do not have. Worlds need all of its context.
    name: /\bQwen-AgentWorld-/i,
    flags: {
      '--max-model-len': '262144',
      '--reasoning-parser': 'qwen3',
      '--language-model-only': true,
      '--trust-remote-code': true,
    },
  },
];

/** Returns the arguments for what the options say of the model, and for its GPU. The user's own arguments win. */
export function modelArguments(options: VllmOptions): string[] {
  const { model, loras, arguments: own } = options;
  const plan = planFor(options);
  const { tool, reasoning } = parsersOf(options, plan?.family);
  const parsers: Flags = {
    ...(tool === undefined ? {} : { '--enable-auto-tool-choice': true, '--tool-call-parser': tool }),
    ...(reasoning === undefined ? {} : { [REASONING_PARSER]: reasoning }),
  };
  const special = MODELS.find(({ name }) => name.test(model))?.flags ?? {};
  const isParserChosen = reasoning !== undefined || options.reasoningParser !== undefined;
  const flags: Flags = {
    ...Object.fromEntries(Object.entries(special).filter(([flag]) => flag !== REASONING_PARSER || !isParserChosen)),
    ...plan?.flags,
  };
  return [
    ...written(parsers, own),
    ...(loras.length === 0 ? [] : ['--enable-lora', '--lora-modules', ...loras]),
    ...written(flags, own),
  ];
}

/** Returns flags as arguments, without those that the user's arguments set or turn off. */
function written(flags: Flags, own: readonly string[]): string[] {
  return Object.entries(flags).flatMap(([flag, value]) =>
    hasFlag(own, flag) ? [] : value === true ? [flag] : [flag, value],
  );
}

/** Returns the flags for the GPU of the options, if they name one. */
export function planFor({ gpu, ...options }: VllmOptions): Plan | undefined {
  return gpu === undefined ? undefined : planOf({ ...options, gpu });
}

function parsersOf({ toolParser, reasoningParser }: VllmOptions, family: Family | undefined) {
  const chosen = (own: string | undefined, usual: string | undefined): string | undefined =>
    own === 'none' ? undefined : (own ?? usual);
  return { tool: chosen(toolParser, family?.toolParser), reasoning: chosen(reasoningParser, family?.reasoningParser) };
}
