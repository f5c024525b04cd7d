import type { SubmittedModel } from '../../config/submission.ts';
import type { Ask } from '../../rollout/ports.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { Sinks } from './workerThread.ts';

type Models = Readonly<Record<string, SubmittedModel>>;

/**
 * Returns what answers `context.ask` of a module: it finds the model by its name, so that only the worker knows where
 * models are and their keys. `where`: the file that names them.
 */
export function askerOf(
  models: Models | undefined,
  where: string,
  ask: Ask | undefined,
): { readonly ask: NonNullable<Sinks['ask']> } {
  return {
    ask: async ({ model: name, messages, options }) => {
      const model = modelOf(models ?? {}, name, where);
      if (ask === undefined) throw new ClassedError('tool_error', `The model ${name} can be asked only in a rollout.`);
      return ask({
        side: name,
        model,
        messages: messages.map(({ role, content }) => ({ role, text: content })),
        ...(Object.keys(options).length === 0 ? {} : { sampling: options }),
      });
    },
  };
}

function modelOf(models: Models, name: string, where: string): SubmittedModel {
  const model = Object.hasOwn(models, name) ? models[name] : undefined;
  if (model !== undefined) return model;
  const names = Object.keys(models);
  throw new ClassedError(
    'tool_error',
    names.length === 0
      ? `The model ${name} is unknown, because ${where} has no \`models\`. Add \`models: { ${name}: { endpoint: …, ` +
          'name: … } }` to it.'
      : `The model ${name} is unknown. Models of ${where}: ${names.join(', ')}.`,
  );
}
