/** What `vllm serve` needs for models that it does not serve well by itself. */
import type { VllmOptions } from '../options.ts';

const MODELS: readonly { readonly name: RegExp; readonly flags: Readonly<Record<string, string | true>> }[] = [
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

/** Returns the arguments that a model needs, without those that the options already set. */
export function modelArguments({ model, reasoningParser, arguments: own }: VllmOptions): string[] {
  const flags = MODELS.find(({ name }) => name.test(model))?.flags ?? {};
  return Object.entries(flags).flatMap(([flag, value]) => {
    const isSet =
      (flag === '--reasoning-parser' && reasoningParser !== undefined) ||
      own.some((argument) => argument === flag || argument.startsWith(`${flag}=`));
    return isSet ? [] : value === true ? [flag] : [flag, value];
  });
}
