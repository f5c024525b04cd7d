/** Says what `rollout cluster` computed for the models that it installs. */
import type { InstallOptions } from '../../../kubernetes/install/options.ts';
import type { CommandLine } from '../../command.ts';
import type { Context } from '../../context.ts';
import { VLLM_OPTIONS } from '../../vllmOptions.ts';

/** Shows how flags of models were computed, if the command line changes a model. */
export async function explainModels(
  context: Pick<Context, 'log'>,
  commandLine: CommandLine,
  options: InstallOptions,
): Promise<void> {
  if (!Object.keys(VLLM_OPTIONS).some((name) => commandLine.options[name] !== undefined)) return;
  const { modelsOf } = await import('../../../kubernetes/install/vllm/models.ts');
  const { modelArguments, planFor } = await import('../../../kubernetes/install/vllm/modelArguments.ts');
  for (const { options: model } of modelsOf(options)) {
    const plan = planFor(model);
    if (plan === undefined) continue;
    for (const line of plan.explanation) context.log(line);
    context.log(`  flags        ${[...modelArguments(model), ...model.arguments].join(' ')}`);
  }
}
